/// Hexadecimal digits, eight at a time in one register: two of them a byte would cost the sending path as much as
/// HTTP/2's framing does.
enum HexDigits {
    /// The eight lower-case digits of 32 bits, in memory order when stored big-endian.
    static func of(_ value: UInt32) -> UInt64 {
        // One nibble a byte, the highest first.
        var x = UInt64(value)
        x = (x | x << 16) & 0x0000_ffff_0000_ffff
        x = (x | x << 8) & 0x00ff_00ff_00ff_00ff
        x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f
        // Nibbles above nine carry into bit 4 when six is added: those become letters.
        let letters = ((x &+ 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
        return x &+ 0x3030_3030_3030_3030 &+ letters &* 39
    }

    static func write(_ word: UInt64, into text: UnsafeMutableRawPointer) {
        unsafe text.storeBytes(of: of(UInt32(truncatingIfNeeded: word >> 32)).bigEndian, as: UInt64.self)
        unsafe (text + 8).storeBytes(of: of(UInt32(truncatingIfNeeded: word)).bigEndian, as: UInt64.self)
    }

    /// What eight digits in either case stand for, the first of them in the highest byte; nil if one is no digit.
    @inline(__always)
    static func value(ofEight digits: UInt64) -> UInt32? {
        let tops: UInt64 = 0x8080_8080_8080_8080
        let ones: UInt64 = 0x0101_0101_0101_0101
        // Without their top bits nothing that is added to a byte reaches the next one, and the top bit says whether the
        // byte is at least what 0x80 was made less by.
        let plain = digits & ~tops
        let lower = plain | ones &* 0x20
        let decimal = (plain &+ ones &* (0x80 - 0x30)) & ~(plain &+ ones &* (0x80 - 0x3a))
        let letter = (lower &+ ones &* (0x80 - 0x61)) & ~(lower &+ ones &* (0x80 - 0x67)) & tops
        guard (decimal | letter) & ~digits & tops == tops else { return nil }
        var x = (plain & 0x0f0f_0f0f_0f0f_0f0f) &+ (letter >> 7) &* 9
        x = (x | x >> 4) & 0x00ff_00ff_00ff_00ff
        x = (x | x >> 8) & 0x0000_ffff_0000_ffff
        return UInt32(truncatingIfNeeded: x | x >> 16)
    }

    /// What sixteen digits stand for; nil if one of them is no digit.
    ///
    /// - Important: 16 bytes can be read.
    @inline(__always)
    static func word(at text: UnsafeRawPointer) -> UInt64? {
        guard let high = unsafe value(ofEight: UInt64(bigEndian: text.loadUnaligned(as: UInt64.self))),
            let low = unsafe value(ofEight: UInt64(bigEndian: (text + 8).loadUnaligned(as: UInt64.self)))
        else { return nil }
        return UInt64(high) << 32 | UInt64(low)
    }

    /// The value of a digit in either case.
    static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
