package import PushTransport

/// The key pair that identifies an app to the push services of browsers (VAPID, RFC 8292). A browser binds each
/// subscription to the public key with which it was made. The private key is never printed.
package struct VAPIDKey: Hashable, Sendable, CustomStringConvertible {
    let key: ES256PrivateKey
    /// The public key in base64url, as `applicationServerKey` of the page has it.
    package let publicKey: String
    let id: VAPIDKeyID
    /// The SHA-256 digest of the public key in DER.
    package let fingerprint: Digest256

    /// Reads a PEM file with a private key on the curve P-256. It blocks.
    package init(file path: String) throws(VAPIDKeyError) {
        do {
            self.init(try ES256PrivateKey(pem: .file(path)))
        } catch {
            throw VAPIDKeyError("\(error); \(Self.advice(about: error))")
        }
    }

    package init(_ key: ES256PrivateKey) {
        self.key = key
        publicKey = Base64URL.encode(key.publicKey.point)
        id = VAPIDKeyID(of: key.publicKey.point)
        fingerprint = key.publicKey.fingerprint
    }

    /// A file that cannot be read may have the key with which browsers have subscribed.
    private static func advice(about error: CryptoError) -> String {
        error.code == .unreadableFile
            ? "check the path and its permissions, or restore the file: another key ends all subscriptions"
            : "make a key with 'carillon keys vapid FILE', a PEM file with a P-256 private key, unless there is a copy of "
                + "the one before: another key ends all subscriptions"
    }

    package static func == (left: VAPIDKey, right: VAPIDKey) -> Bool { left.fingerprint == right.fingerprint }

    package func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }

    package var description: String { "VAPID key \(publicKey)" }
}

/// Why a file is not a VAPID key that can be used.
package struct VAPIDKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
