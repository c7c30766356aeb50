private import COpenSSL

/// Bytes that are overwritten before their memory is freed.
final class WipedBytes {
    private(set) var bytes: [UInt8]

    /// Takes over the bytes. The caller must not keep a copy, because its memory would not be overwritten.
    init(_ bytes: consuming [UInt8]) {
        self.bytes = bytes
    }

    deinit {
        wipe(&bytes)
    }
}

/// Overwrites secret bytes in a way that the compiler does not optimize away. The array must be unique: a shared array
/// would be copied first.
package func wipe(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
}
