private import COpenSSL

package enum SHA256 {
    // Fetched once and never changed: fetching an algorithm costs more than hashing a short text.
    nonisolated(unsafe) fileprivate static let algorithm: OpaquePointer = {
        guard let found = unsafe EVP_MD_fetch(nil, "SHA256", nil) else { fatalError("OpenSSL has no SHA-256") }
        return unsafe found
    }()

    package static func hash(_ bytes: UnsafeRawBufferPointer) -> Digest256 {
        var hasher = SHA256Hasher()
        unsafe hasher.update(bytes)
        return hasher.finish()
    }

    package static func hash(_ bytes: [UInt8]) -> Digest256 {
        unsafe bytes.withUnsafeBytes { unsafe hash($0) }
    }

    package static func hash(_ text: String) -> Digest256 {
        hash(Array(text.utf8))
    }
}

/// A SHA-256 hasher for bytes that arrive in pieces. Reusing it for many messages avoids an allocation per message.
@safe
package struct SHA256Hasher: ~Copyable {
    private let context: OpaquePointer

    package init() {
        guard let context = unsafe EVP_MD_CTX_new() else { fatalError("out of memory") }
        unsafe self.context = context
        begin()
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    }

    package mutating func update(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe update($0) }
    }

    /// Returns the digest of the bytes since the last call. The hasher is then ready for the next message.
    package mutating func finish() -> Digest256 {
        var digest = Digest256()
        unsafe digest.withMutableBytes { unsafe _ = EVP_DigestFinal_ex(context, $0.baseAddress, nil) }
        begin()
        return digest
    }

    private func begin() {
        let result = unsafe EVP_DigestInit_ex2(context, SHA256.algorithm, nil)
        precondition(result == 1, "OpenSSL refuses SHA-256")
    }
}

/// HMAC-SHA256 with one key, for any number of messages. Confined to its owner.
@safe
package struct HMACSHA256: ~Copyable {
    // Fetched once, never changed.
    nonisolated(unsafe) private static let algorithm: OpaquePointer = {
        guard let found = unsafe EVP_MAC_fetch(nil, "HMAC", nil) else { fatalError("OpenSSL has no HMAC") }
        return unsafe found
    }()

    private let context: OpaquePointer

    package init(key: [UInt8]) {
        guard let context = unsafe EVP_MAC_CTX_new(Self.algorithm) else { fatalError("out of memory") }
        unsafe self.context = context
        // OpenSSL takes a null pointer as "the previous key", so an empty key needs a pointer with length zero.
        let given = key.isEmpty ? [0] : key
        let result = unsafe COpenSSL_begin_hmac_sha256(context, given, key.count)
        precondition(result == 1, "OpenSSL refuses HMAC-SHA256")
    }

    deinit {
        unsafe EVP_MAC_CTX_free(context)
    }

    package mutating func authenticate(_ message: UnsafeRawBufferPointer) -> Digest256 {
        var digest = Digest256()
        // Without a key, OpenSSL starts again with the current key.
        let began = unsafe EVP_MAC_init(context, nil, 0, nil)
        precondition(began == 1, "OpenSSL refuses HMAC-SHA256")
        unsafe EVP_MAC_update(context, message.assumingMemoryBound(to: UInt8.self).baseAddress, message.count)
        unsafe digest.withMutableBytes { unsafe _ = EVP_MAC_final(context, $0.baseAddress, nil, $0.count) }
        return digest
    }

    package mutating func authenticate(_ message: [UInt8]) -> Digest256 {
        unsafe message.withUnsafeBytes { unsafe authenticate($0) }
    }

    /// Authenticates a single message.
    package static func authenticate(_ message: [UInt8], key: [UInt8]) -> Digest256 {
        var mac = HMACSHA256(key: key)
        return mac.authenticate(message)
    }
}
