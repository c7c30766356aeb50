/// A device token, stored inline. It has up to 100 bytes, because Apple's documents advise against assuming a length.
package struct TokenBytes: Sendable {
    package static let maxCount = 100
    /// The number of bytes below which Apple answers BadDeviceToken.
    static let minCount = 32

    /// The bytes in order. The first byte of each word is its least significant one; bytes after the end are zero.
    private(set) var words = InlineArray<13, UInt64>(repeating: 0)
    package private(set) var count = 0

    init() {}

    /// Decodes hexadecimal digits. Returns nil unless their number is even and at most 200.
    @inline(__always)
    init?(hex digits: ByteView) {
        guard digits.count % 2 == 0, digits.count <= 2 * Self.maxCount else { return nil }
        var position = 0
        while position + 8 <= digits.count {
            guard let bytes = Hex.bytes(digits.word(at: position)) else { return nil }
            words[position >> 4] |= UInt64(bytes) << UInt64(position & 8 == 0 ? 0 : 32)
            position += 8
        }
        while position < digits.count {
            guard let high = Hex.value(digits[position]), let low = Hex.value(digits[position + 1]) else { return nil }
            words[position >> 4] |= UInt64(high << 4 | low) << UInt64(8 * (position >> 1 & 7))
            position += 2
        }
        count = digits.count / 2
    }

    init?(_ bytes: ByteView) {
        guard bytes.count <= Self.maxCount else { return nil }
        for index in 0..<bytes.count { words[index >> 3] |= UInt64(bytes[index]) << UInt64(8 * (index & 7)) }
        count = bytes.count
    }

    @inline(__always)
    func withBytes<Result>(_ body: (ByteView) -> Result) -> Result {
        unsafe withUnsafeBytes(of: words) { raw in
            unsafe body(ByteView(borrowing: UnsafeRawBufferPointer(rebasing: raw[0..<count])))
        }
    }

    package var bytes: [UInt8] { withBytes { $0.copied() } }
}
