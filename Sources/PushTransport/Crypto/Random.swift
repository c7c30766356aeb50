private import COpenSSL

/// Bytes that nobody can foresee.
package enum SecureRandom {
    package static func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = unsafe bytes.withUnsafeMutableBufferPointer { unsafe RAND_bytes($0.baseAddress, CInt($0.count)) }
        precondition(result == 1, "the system gives no random bytes")
        return bytes
    }
}

/// As long whether they differ in the first byte or in the last. The lengths are no secret.
package func equalInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe CRYPTO_memcmp(left, right, left.count) == 0
}
