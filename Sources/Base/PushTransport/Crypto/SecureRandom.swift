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
