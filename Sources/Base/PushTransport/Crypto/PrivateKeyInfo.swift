/// The kind of a private key, without the key.
package struct PrivateKeyInfo: Sendable, Equatable {
    /// The kind as text: "RSA, 2048 bits".
    package let kind: String
    /// Whether the key is usable for ES256.
    package let isP256: Bool

    /// Reads the first private key of a PEM source. Throws the errors of ``ES256PrivateKey/init(pem:password:)``,
    /// except for the wrong kind of key.
    package init(pem source: PEMSource, password: String? = nil) throws(CryptoError) {
        let key = try source.privateKey(password: password)
        kind = key.kind
        isP256 = key.isP256
    }
}
