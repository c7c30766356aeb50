/// Conversion of hexadecimal digits, eight at a time in one register. A conversion by single digits would cost the
/// sending path as much as HTTP/2 framing does.
package enum HexDigits {
    /// Returns the eight lower-case digits of 32 bits, in memory order when stored big-endian.
    static func of(_ value: UInt32) -> UInt64 {
        // One nibble per byte, the highest first.
        var x = UInt64(value)
        x = (x | x << 16) & 0x0000_ffff_0000_ffff
        x = (x | x << 8) & 0x00ff_00ff_00ff_00ff
        x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f
        // Adding six carries nibbles above nine into bit 4; these become letters.
        let letters = ((x &+ 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
        return x &+ 0x3030_3030_3030_3030 &+ letters &* 39
    }

    static func write(_ word: UInt64, into text: UnsafeMutableRawPointer) {
        unsafe text.storeBytes(of: of(UInt32(truncatingIfNeeded: word >> 32)).bigEndian, as: UInt64.self)
        unsafe (text + 8).storeBytes(of: of(UInt32(truncatingIfNeeded: word)).bigEndian, as: UInt64.self)
    }

    /// Returns the value of eight digits in either case, the first of them in the highest byte; nil if a byte is not a
    /// digit.
    @inline(__always)
    static func value(ofEight digits: UInt64) -> UInt32? {
        let tops: UInt64 = 0x8080_8080_8080_8080
        let ones: UInt64 = 0x0101_0101_0101_0101
        // With the top bits cleared, an addition to one byte never carries into the next. After adding 0x80 - n, the
        // top bit of a byte says whether the byte is at least n.
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

    /// Returns the value of sixteen digits; nil if a byte is not a digit.
    ///
    /// - Important: 16 bytes must be readable at `text`.
    @inline(__always)
    static func word(at text: UnsafeRawPointer) -> UInt64? {
        guard let high = unsafe value(ofEight: UInt64(bigEndian: text.loadUnaligned(as: UInt64.self))),
            let low = unsafe value(ofEight: UInt64(bigEndian: (text + 8).loadUnaligned(as: UInt64.self)))
        else { return nil }
        return UInt64(high) << 32 | UInt64(low)
    }

    /// Returns the value of a digit in either case; nil if the byte is not a digit.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
