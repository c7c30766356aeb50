private import COpenSSL

/// Cryptographically secure random bytes.
package enum SecureRandom {
    package static func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = unsafe bytes.withUnsafeMutableBufferPointer { unsafe RAND_bytes($0.baseAddress, CInt($0.count)) }
        precondition(result == 1, "OpenSSL cannot generate random bytes")
        return bytes
    }
}

/// Compares in constant time, so that timing does not reveal the first difference. The lengths are not secret.
package func equalInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe CRYPTO_memcmp(left, right, left.count) == 0
}
