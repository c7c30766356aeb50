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
        let values = values
        for index in 0..<digits {
            let value = values[Int(text[index])]
            guard value != none else { return nil }
            gathered = gathered << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: gathered >> bits))
            }
        }
        return gathered & (1 << bits - 1) == 0 ? bytes : nil
    }

    private static let none: UInt8 = 0xff

    /// The values of all bytes.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: none, count: 256)
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (value, digit) in alphabet.utf8.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()
}
