private import COpenSSL
import PushLoop

/// A private key that signs JSON Web Tokens with `RS256`: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518, section 3.3). It is
/// thread-safe; operations run one at a time. A signature takes about a millisecond.
package final class RS256PrivateKey: Sendable {
    /// RFC 7518 demands at least this size.
    private static let minBits = 2048
    /// A signature with a larger key takes a tenth of a second or more.
    private static let maxBits = 16_384

    private let operation: Locked<SignatureContext>
    package let publicKey: RS256PublicKey
    private let key: KeyHandle

    /// Reads an RSA key from PEM. An encrypted key is an error.
    package convenience init(pem source: PEMSource) throws(CryptoError) {
        let key = try source.privateKey(password: nil)
        guard key.isRSA, (Self.minBits...Self.maxBits).contains(key.bits) else {
            throw CryptoError(
                .wrongKeyKind,
                message:
                    "\(source.name): RS256 needs an RSA key of \(Self.minBits) bits or more, this one is \(key.kind)")
        }
        try self.init(key)
    }

    /// Generates a new key.
    package static func generate() throws(CryptoError) -> RS256PrivateKey {
        OpenSSLErrors.clear()
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { fatalError("out of memory") }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, CInt(minBits)) == 1,
            unsafe EVP_PKEY_generate(context, &made) == 1, let made = unsafe made
        else { throw CryptoError(.failed, message: "cannot generate an RSA key: \(OpenSSLErrors.drain().text)") }
        return try unsafe RS256PrivateKey(KeyHandle(owning: made))
    }

    private init(_ key: KeyHandle) throws(CryptoError) {
        self.key = key
        operation = Locked(try SignatureContext(key, for: "RS256", isForSigning: true))
        publicKey = try RS256PublicKey(key)
    }

    /// The key as unencrypted PKCS#8 PEM, which `init(pem:)` reads.
    package var pem: String { key.privatePEMText }

    /// The kind of the key as text: "RSA, 2048 bits".
    package var kind: String { key.kind }

    package func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        let digest = SHA256.hash(message)
        guard let signature = operation.withLock({ $0.sign(digest) }) else {
            throw CryptoError(.failed, message: "signing failed: \(OpenSSLErrors.drain().text)")
        }
        return signature
    }
}

/// A public key that verifies the signatures of an ``RS256PrivateKey``. It is thread-safe; operations run one at a time.
package final class RS256PublicKey: Sendable {
    private let key: KeyHandle
    private let operation: Locked<SignatureContext>

    fileprivate init(_ key: KeyHandle) throws(CryptoError) {
        self.key = key
        operation = Locked(try SignatureContext(key, for: "RS256", isForSigning: false))
    }

    /// The SHA-256 digest of the key's SubjectPublicKeyInfo in DER. It identifies the key in texts without showing it.
    package var fingerprint: Digest256 { SHA256.hash(key.publicDER) }

    /// Returns whether `signature` is a signature of the message by this key.
    package func verify(_ message: [UInt8], signature: [UInt8]) -> Bool {
        let digest = SHA256.hash(message)
        return operation.withLock { $0.verify(digest, signature: signature) }
    }
}

extension RS256PrivateKey: CustomReflectable {
    /// A mirror without children, because a key must not be shown and OpenSSL's state cannot be reflected.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .class) }
}

extension RS256PublicKey: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .class) }
}
