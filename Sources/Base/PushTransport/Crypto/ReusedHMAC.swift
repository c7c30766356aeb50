private import COpenSSL

/// HMAC-SHA256 for short keys that change with each text. OpenSSL's own needs a context for each key, and its digests look
/// up their algorithm, which costs more than the digest of a short text. Confined to its owner.
@safe
final class ReusedHMAC {
    private static let blockLength = 64

    private let context: UnsafeMutablePointer<SHA256_CTX>
    /// The key, padded to a block, and the inner digest.
    private let block: UnsafeMutablePointer<UInt8>

    init() {
        unsafe context = .allocate(capacity: 1)
        unsafe context.initialize(to: SHA256_CTX())
        unsafe block = .allocate(capacity: Self.blockLength + 32)
        unsafe block.initialize(repeating: 0, count: Self.blockLength + 32)
    }

    deinit {
        unsafe context.deallocate()
        unsafe block.deallocate()
    }

    private static func check(_ result: Int32) { precondition(result == 1, "OpenSSL has no SHA-256") }

    /// - Parameter key: At most 64 bytes.
    func begin(key: UnsafeRawBufferPointer) {
        precondition(key.count <= Self.blockLength)
        for index in 0..<Self.blockLength {
            unsafe block[index] = (index < key.count ? key[index] : 0) ^ 0x36
        }
        unsafe Self.check(COpenSSL_sha256_begin(context))
        unsafe Self.check(COpenSSL_sha256_update(context, block, Self.blockLength))
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        unsafe Self.check(COpenSSL_sha256_update(context, bytes.baseAddress, bytes.count))
    }

    /// Writes 32 bytes.
    func finish(into digest: UnsafeMutablePointer<UInt8>) {
        let inner = unsafe block + Self.blockLength
        unsafe Self.check(COpenSSL_sha256_finish(context, inner))
        for index in 0..<Self.blockLength { unsafe block[index] ^= 0x36 ^ 0x5c }
        unsafe Self.check(COpenSSL_sha256_begin(context))
        unsafe Self.check(COpenSSL_sha256_update(context, block, Self.blockLength))
        unsafe Self.check(COpenSSL_sha256_update(context, inner, 32))
        unsafe Self.check(COpenSSL_sha256_finish(context, digest))
    }

    /// Overwrites what depends on the last key.
    func forget() {
        unsafe OPENSSL_cleanse(block, Self.blockLength + 32)
        unsafe OPENSSL_cleanse(context, MemoryLayout<SHA256_CTX>.size)
    }
}
