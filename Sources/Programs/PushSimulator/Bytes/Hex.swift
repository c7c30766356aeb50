/// Conversion between hexadecimal digits and bytes, eight digits per step, because every request carries a token and an
/// id.
enum Hex {
    /// Returns the value of a digit, or nil.
    static func value(_ digit: UInt8) -> UInt8? {
        let number = digit &- UInt8(ascii: "0")
        if number < 10 { return number }
        let letter = (digit | 0x20) &- UInt8(ascii: "a")
        return letter < 6 ? letter + 10 : nil
    }

    /// Returns four bytes for eight digits, with the first byte least significant; nil if a character is not a digit.
    @inline(__always)
    static func bytes(_ digits: UInt64) -> UInt32? {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        // Returns the high bit of each byte in `word` that is at least `character`. This is correct for bytes below 128; the guard
        // below rejects larger ones.
        @inline(__always) func atLeast(_ character: UInt64, in word: UInt64) -> UInt64 {
            ((word | highs) &- character &* ones) & highs
        }
        let lowered = digits | 0x2020_2020_2020_2020
        let numbers = atLeast(0x30, in: digits) & ~atLeast(0x3a, in: digits)
        let letters = atLeast(0x61, in: lowered) & ~atLeast(0x67, in: lowered)
        guard (numbers | letters) == highs, digits & highs == 0 else { return nil }
        let nibbles = (digits & 0x0f0f_0f0f_0f0f_0f0f) &+ ((digits >> 6) & ones) &* 9
        let pairs = ((nibbles << 4) | (nibbles >> 8)) & 0x00ff_00ff_00ff_00ff
        let quads = (pairs | (pairs >> 8)) & 0x0000_ffff_0000_ffff
        return UInt32(truncatingIfNeeded: quads | (quads >> 16))
    }

    /// Returns eight digits for four bytes; in both, the first byte is the least significant one.
    @inline(__always)
    static func digits(_ bytes: UInt32, uppercase: Bool) -> UInt64 {
        var spread = UInt64(bytes)
        spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff
        spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff
        let nibbles = (spread >> 4) & 0x000f_000f_000f_000f | (spread & 0x000f_000f_000f_000f) << 8
        let letters = ((nibbles &+ 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
        return nibbles &+ 0x3030_3030_3030_3030 &+ letters &* (uppercase ? 7 : 39)
    }

    @inline(__always)
    static func digit(_ nibble: UInt8, uppercase: Bool = false) -> UInt8 {
        let value = nibble & 15
        return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: uppercase ? "A" : "a") + value - 10
    }

    static func append(_ byte: UInt8, to text: inout [UInt8]) {
        text.append(digit(byte >> 4))
        text.append(digit(byte))
    }

    static func text(_ bytes: [UInt8]) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * bytes.count)
        for byte in bytes { append(byte, to: &digits) }
        return String(decoding: digits, as: UTF8.self)
    }

    static func bytes(_ text: String) -> [UInt8]? { ByteView.lending(Array(text.utf8)) { bytes(of: $0) } }

    /// Returns the bytes for an even number of digits; nil if the text is malformed.
    static func bytes(of text: ByteView) -> [UInt8]? {
        guard text.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        for position in stride(from: 0, to: text.count, by: 2) {
            guard let high = value(text[position]), let low = value(text[position + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}
