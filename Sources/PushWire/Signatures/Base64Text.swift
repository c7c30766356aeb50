/// Base64 as structured fields have it (RFC 4648, section 4).
enum Base64Text {
    /// Decodes strictly: with its padding, and with zeros in the bits that are left over, so that no two texts decode to
    /// the same bytes. Returns nil for any other text.
    static func decode(_ text: ByteView) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        var digits = text.count
        while digits > 0, text.count - digits < 2, text[digits - 1] == UInt8(ascii: "=") { digits -= 1 }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits * 3 / 4)
        var gathered: UInt32 = 0
        var bits: UInt32 = 0
        for index in 0..<digits {
            guard let value = value(of: text[index]) else { return nil }
            gathered = gathered << 6 | value
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: gathered >> bits))
            }
        }
        return gathered & (1 << bits - 1) == 0 ? bytes : nil
    }

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
