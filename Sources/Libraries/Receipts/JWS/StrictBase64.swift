/// Base64 without tolerance: no white space, no bits after the last byte, and padding exactly where the encoding has
/// it. Two texts never decode to the same bytes.
enum StrictBase64 {
    /// Decodes the standard alphabet with padding (RFC 4648, section 4).
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        var digits = Array(text)
        if digits.last == UInt8(ascii: "=") { digits.removeLast() }
        if digits.last == UInt8(ascii: "=") { digits.removeLast() }
        return decode(digits[...], with: standard)
    }

    /// Decodes the alphabet for URLs without padding (RFC 4648, section 5; RFC 7515, section 2).
    static func decodeURL(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        decode(text, with: url)
    }

    /// Encodes with the standard alphabet and padding.
    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let piece = bytes[start..<min(start + 3, bytes.count)]
            var gathered: UInt32 = 0
            for offset in 0..<3 {
                gathered = gathered << 8 | UInt32(offset < piece.count ? piece[start + offset] : 0)
            }
            for digit in 0..<4 {
                let value = Int(gathered >> UInt32(18 - 6 * digit)) & 63
                text.append(digit <= piece.count ? standardDigits[value] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    private static let standardDigits = Array((letters + "+/").utf8)
    private static let standard = values(of: standardDigits)
    private static let url = values(of: Array((letters + "-_").utf8))

    private static func values(of alphabet: [UInt8]) -> [UInt8] {
        var values = [UInt8](repeating: 0xff, count: 256)
        for (value, digit) in alphabet.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }

    private static func decode(_ text: ArraySlice<UInt8>, with values: [UInt8]) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 2)
        var gathered: UInt32 = 0
        var bits: UInt32 = 0
        for digit in text {
            let value = values[Int(digit)]
            guard value != 0xff else { return nil }
            gathered = gathered << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: gathered >> bits))
            }
        }
        guard gathered & (1 << bits - 1) == 0 else { return nil }
        return bytes
    }
}
