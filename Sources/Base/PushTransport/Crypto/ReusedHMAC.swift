private import COpenSSL

/// HMAC-SHA256 for short keys that change with each text. OpenSSL's own needs a context for each key, which costs more
/// than the digest of a short text. Confined to its owner.
@safe
final class ReusedHMAC {
    private static let blockLength = 64

    private let context: OpaquePointer
    /// The key, padded to a block, and the inner digest.
    private let block: UnsafeMutablePointer<UInt8>

    init() {
        guard let context = unsafe EVP_MD_CTX_new() else { fatalError("out of memory") }
        unsafe self.context = context
        unsafe block = .allocate(capacity: Self.blockLength + 32)
        unsafe block.initialize(repeating: 0, count: Self.blockLength + 32)
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
        unsafe block.deallocate()
    }

    /// - Parameter key: At most 64 bytes.
    func begin(key: UnsafeRawBufferPointer) {
        precondition(key.count <= Self.blockLength)
        for index in 0..<Self.blockLength {
            unsafe block[index] = (index < key.count ? key[index] : 0) ^ 0x36
        }
        restart()
        unsafe EVP_DigestUpdate(context, block, Self.blockLength)
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    }

    /// Writes 32 bytes.
    func finish(into digest: UnsafeMutablePointer<UInt8>) {
        let inner = unsafe block + Self.blockLength
        unsafe EVP_DigestFinal_ex(context, inner, nil)
        for index in 0..<Self.blockLength { unsafe block[index] ^= 0x36 ^ 0x5c }
        restart()
        unsafe EVP_DigestUpdate(context, block, Self.blockLength)
        unsafe EVP_DigestUpdate(context, inner, 32)
        unsafe EVP_DigestFinal_ex(context, digest, nil)
    }

    /// Overwrites what depends on the last key.
    func forget() {
        unsafe OPENSSL_cleanse(block, Self.blockLength + 32)
        restart()
    }

    private func restart() {
        let result = unsafe EVP_DigestInit_ex2(context, SHA256.algorithm, nil)
        precondition(result == 1, "OpenSSL refuses SHA-256")
    }
}
