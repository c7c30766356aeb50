/// Base64 with the standard alphabet and with the URL alphabet (RFC 4648).
enum Base64 {
    private static func value(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }

    private static func decode(_ text: ByteView, excluding other: (UInt8, UInt8)) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var held = 0
        for position in 0..<text.count {
            let character = text[position]
            guard character != other.0, character != other.1, let value = value(character) else { return nil }
            bits = bits << 6 | UInt32(value)
            held += 6
            if held >= 8 {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
            }
        }
        // The leftover bits must be zero; otherwise one value would have several encodings.
        guard bits & ((1 << UInt32(held)) - 1) == 0 else { return nil }
        return bytes
    }

    /// Decodes the URL alphabet without padding, as JSON Web Tokens use it (RFC 7515 §2).
    static func decodeURL(_ text: ByteView) -> [UInt8]? {
        decode(text, excluding: (UInt8(ascii: "+"), UInt8(ascii: "/")))
    }

    /// Decodes the standard alphabet with padding.
    static func decode(_ text: ByteView) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        var end = text.count
        while end > 0, text.count - end < 2, text[end - 1] == UInt8(ascii: "=") { end -= 1 }
        return decode(text.prefix(end), excluding: (UInt8(ascii: "-"), UInt8(ascii: "_")))
    }

    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        encode(bytes, alphabet: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", pads: true)
    }

    static func encodeURL(_ bytes: [UInt8]) -> [UInt8] {
        encode(bytes, alphabet: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", pads: false)
    }

    private static func encode(_ bytes: [UInt8], alphabet: String, pads: Bool) -> [UInt8] {
        let alphabet = Array(alphabet.utf8)
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for byte in group { bits = bits << 8 | UInt32(byte) }
            bits <<= UInt32(8 * (3 - group.count))
            for index in 0...group.count {
                text.append(alphabet[Int(bits >> UInt32(18 - 6 * index) & 63)])
            }
            if pads { text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: 3 - group.count)) }
        }
        return text
    }
}
