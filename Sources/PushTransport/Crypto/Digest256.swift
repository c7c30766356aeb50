/// 32 bytes: a SHA-256 or an HMAC over it. Held inline, so that it costs no allocation.
package struct Digest256: Hashable, Sendable, CustomStringConvertible {
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// All zero.
    init() {}

    /// Nil unless there are 32 bytes.
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

    /// Lower-case hexadecimal.
    package var hex: String { Hex.encode(bytes) }

    package var description: String { hex }

    package static func == (left: Digest256, right: Digest256) -> Bool {
        left.words == right.words
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
    }

    /// As long whether they differ in the first byte or in the last: for comparing with what a peer claims.
    package func equalsInConstantTime(_ other: Digest256) -> Bool {
        let difference =
            (words.0 ^ other.words.0) | (words.1 ^ other.words.1) | (words.2 ^ other.words.2)
            | (words.3 ^ other.words.3)
        return difference == 0
    }
}
