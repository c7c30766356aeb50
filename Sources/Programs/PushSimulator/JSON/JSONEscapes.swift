/// Resolution of the escapes in JSON strings.
enum JSONEscapes {
    /// Returns the text between the quotes with its escapes resolved; nil if an escape is malformed. An unpaired
    /// surrogate becomes U+FFFD.
    static func resolve(_ text: ByteView) -> [UInt8]? {
        var resolved: [UInt8] = []
        resolved.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            let byte = text[position]
            guard byte == UInt8(ascii: "\\") else {
                resolved.append(byte)
                position += 1
                continue
            }
            guard position + 1 < text.count else { return nil }
            switch text[position + 1] {
            case UInt8(ascii: "b"): resolved.append(0x08)
            case UInt8(ascii: "f"): resolved.append(0x0c)
            case UInt8(ascii: "n"): resolved.append(0x0a)
            case UInt8(ascii: "r"): resolved.append(0x0d)
            case UInt8(ascii: "t"): resolved.append(0x09)
            case UInt8(ascii: "u"):
                guard let (scalar, length) = scalar(text, at: position) else { return nil }
                resolved.append(contentsOf: String(scalar).utf8)
                position += length
                continue
            case let other: resolved.append(other)
            }
            position += 2
        }
        return resolved
    }

    static func resolves(_ text: ByteView, to name: StaticString) -> Bool {
        guard let plain = resolve(text) else { return false }
        return ByteView.lending(plain) { $0.equals(name) }
    }

    private static func unit(_ text: ByteView, at position: Int) -> UInt32? {
        guard position + 6 <= text.count, text[position] == UInt8(ascii: "\\"),
            text[position + 1] == UInt8(ascii: "u")
        else { return nil }
        var unit: UInt32 = 0
        for index in position + 2..<position + 6 {
            guard let digit = Hex.value(text[index]) else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    private static func scalar(_ text: ByteView, at position: Int) -> (Unicode.Scalar, length: Int)? {
        guard let first = unit(text, at: position) else { return nil }
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        if first < 0xdc00, let second = unit(text, at: position + 6), 0xdc00...0xdfff ~= second,
            let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
        {
            return (scalar, 12)
        }
        return ("\u{fffd}", 6)
    }
}
