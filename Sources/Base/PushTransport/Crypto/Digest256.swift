/// A digest of 32 bytes: SHA-256 or HMAC-SHA256. It is stored inline and needs no allocation.
package struct Digest256: Hashable, Sendable, CustomStringConvertible {
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// Creates a digest of zeros.
    init() {}

    /// Creates a digest from 32 bytes. Returns nil for any other count.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        unsafe withMutableBytes { target in
            unsafe bytes.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(target).copyMemory(from: $0) }
        }
    }

    package var bytes: [UInt8] {
        unsafe withBytes { unsafe Array($0) }
    }

    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe withUnsafeBytes(of: words) { unsafe body($0) }
    }

    mutating func withMutableBytes(_ body: (UnsafeMutableBufferPointer<UInt8>) -> Void) {
        unsafe withUnsafeMutableBytes(of: &words) { unsafe body($0.assumingMemoryBound(to: UInt8.self)) }
    }

    /// The digest in lowercase hexadecimal.
    package var hex: String { Hex.encode(bytes) }

    package var description: String { hex }

    package static func == (left: Digest256, right: Digest256) -> Bool {
        left.words == right.words
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
    }

    /// Compares in constant time, so that timing does not reveal the first difference. Use it for values that a peer
    /// sends.
    package func equalsInConstantTime(_ other: Digest256) -> Bool {
        let difference =
            (words.0 ^ other.words.0) | (words.1 ^ other.words.1) | (words.2 ^ other.words.2)
            | (words.3 ^ other.words.3)
        return difference == 0
    }
}
