package import PushModel

extension Address {
    /// The largest length of a text that can be a token: 100 bytes in digits, with a space behind each byte and angle
    /// brackets.
    package static let maxTextLength = 3 * maxTokenLength + 2

    /// Creates a token from a text in one of the forms in which apps send it; nil for any other text.
    ///
    /// - Hexadecimal digits in either case. Spaces between them and angle brackets around them are allowed, because
    ///   the description of `NSData` has both: `<740f4707 bebcf74f …>`.
    /// - Base64 or base64url (RFC 4648), with padding or without it.
    ///
    /// A text whose characters are all hexadecimal digits is never read as base64. An odd number of them is not a
    /// token: it is far more often a token that was cut off than base64. In base64, a token of 32 bytes has 43
    /// characters, or 44 of which the last is `=`.
    package init?(text: some StringProtocol) {
        guard text.utf8.count <= Self.maxTextLength else { return nil }
        var bytes = Array(text.utf8)
        if bytes.first == UInt8(ascii: "<") {
            guard bytes.last == UInt8(ascii: ">"), bytes.count > 1 else { return nil }
            bytes = Array(bytes.dropFirst().dropLast())
            bytes.removeAll { $0 == UInt8(ascii: " ") }
            self.init(hexDigits: bytes)
            return
        }
        let digits = bytes.filter { $0 != UInt8(ascii: " ") }
        if digits.allSatisfy({ HexDigits.value(of: $0) != nil }) {
            self.init(hexDigits: digits)
            return
        }
        // A space within base64 may be a `+` that was lost in a form. The token would be another one.
        guard digits.count == bytes.count, let decoded = Self.decoded(base64: bytes[...]),
            decoded.count <= Self.maxTokenLength
        else { return nil }
        self.init(bytes: decoded)
    }

    private init?(hexDigits digits: [UInt8]) {
        guard digits.count <= 2 * Self.maxTokenLength, digits.allSatisfy({ HexDigits.value(of: $0) != nil }) else {
            return nil
        }
        self.init(hex: String(decoding: digits, as: UTF8.self))
    }

    /// Returns the decoded bytes; nil unless the text is the only encoding of them in its alphabet.
    private static func decoded(base64 text: ArraySlice<UInt8>) -> [UInt8]? {
        var text = text
        if text.last == UInt8(ascii: "=") {
            guard text.count.isMultiple(of: 4) else { return nil }
            text = text.dropLast()
            if text.last == UInt8(ascii: "=") { text = text.dropLast() }
        }
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        var (bits, count) = (UInt32(0), 0)
        var (isPlain, isURL) = (false, false)
        for character in text {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"), UInt8(ascii: "/"):
                value = character == UInt8(ascii: "+") ? 62 : 63
                isPlain = true
            case UInt8(ascii: "-"), UInt8(ascii: "_"):
                value = character == UInt8(ascii: "-") ? 62 : 63
                isURL = true
            default: return nil
            }
            bits = bits << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            bits &= (1 << UInt32(count)) - 1
        }
        return bits == 0 && !(isPlain && isURL) ? bytes : nil
    }
}
