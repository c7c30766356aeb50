/// A key that encrypts small secrets for storage in a file: AES-256-GCM with a random nonce.
///
/// A sealed secret is the version (1 byte), the id of the sealing key (8), the nonce (12), the encrypted bytes, and the
/// tag (16). It opens only with the context that it was sealed for, so that it cannot be moved to another row.
package final class SealingKey: @unchecked Sendable {
    // Unchecked: the key changes only when it is wiped at its end.
    package static let length = AESGCM.longKeyLength

    private static let version: UInt8 = 1
    private static let headLength = 1 + 8 + AESGCM.nonceLength

    private var key: [UInt8]
    /// The first bytes of the digest of the key, by which a secret that another key has sealed is recognized.
    private let id: [UInt8]

    /// The reason why a sealed secret cannot be opened.
    package enum OpenError: Error, Sendable, Equatable {
        /// The bytes are damaged, or they were sealed for another context.
        case damaged
        /// Another key sealed the secret.
        case otherKey
    }

    /// Creates a key from 32 bytes; nil for any other count.
    package init?(_ bytes: consuming [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        id = Array(SHA256.hash(bytes + Array("carillon sealing key".utf8)).bytes.prefix(8))
        key = bytes
    }

    deinit {
        wipe(&key)
    }

    /// Creates a new key.
    package static func generate() -> SealingKey {
        guard let key = SealingKey(SecureRandom.bytes(length)) else {
            preconditionFailure("a sealing key has \(length) bytes")
        }
        return key
    }

    /// The key in Base64URL, for its file.
    package var text: String { Base64URL.encode(key) }

    package func seal(_ secret: [UInt8], for context: String) -> [UInt8] {
        let nonce = SecureRandom.bytes(AESGCM.nonceLength)
        return [Self.version] + id + nonce + AESGCM.seal(secret, bound: Array(context.utf8), key: key, nonce: nonce)
    }

    package func open(_ sealed: [UInt8], for context: String) throws(OpenError) -> [UInt8] {
        guard sealed.count >= Self.headLength + AESGCM.tagLength, sealed[0] == Self.version else { throw .damaged }
        guard Array(sealed[1..<9]) == id else { throw .otherKey }
        let (nonce, encrypted) = (Array(sealed[9..<Self.headLength]), Array(sealed[Self.headLength...]))
        guard let secret = AESGCM.open(encrypted, bound: Array(context.utf8), key: key, nonce: nonce) else {
            throw .damaged
        }
        return secret
    }
}

extension SealingKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var debugDescription: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .struct) }
}
