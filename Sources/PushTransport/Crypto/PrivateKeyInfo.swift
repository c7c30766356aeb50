/// What kind of private key it is, without the key.
package struct PrivateKeyInfo: Sendable, Equatable {
    /// For people: "RSA, 2048 bits".
    package let kind: String
    /// Fit for ES256.
    package let isP256: Bool

    /// Of the first private key in a PEM. Throws as `ES256PrivateKey(pem:password:)` does, but for the kind.
    package init(pem source: PEMSource, password: String? = nil) throws(CryptoError) {
        let key = try source.privateKey(password: password)
        kind = key.kind
        isP256 = key.isP256
    }
}
