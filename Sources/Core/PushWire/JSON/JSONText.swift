/// Escaping and unescaping of JSON strings.
package enum JSONText {
    static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Returns the UTF-8 of the content of a scanned string.
    static func unescaped(_ inner: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(inner.count)
        var at = inner.startIndex
        while at < inner.endIndex {
            let byte = inner[at]
            guard byte == UInt8(ascii: "\\") else {
                result.append(byte)
                at += 1
                continue
            }
            let mark = inner[at + 1]
            at += 2
            guard mark == UInt8(ascii: "u") else {
                result.append(plain(mark))
                continue
            }
            var scalar = unit(at: at, in: inner)
            at += 4
            if (0xd800..<0xdc00).contains(scalar) {
                scalar = 0x10000 + (scalar - 0xd800) << 10 + (unit(at: at + 2, in: inner) - 0xdc00)
                at += 6
            }
            append(Unicode.Scalar(scalar) ?? "\u{fffd}", to: &result)
        }
        return result
    }

    /// Returns the number that four hexadecimal digits form.
    private static func unit(at start: Int, in bytes: ArraySlice<UInt8>) -> UInt32 {
        var value: UInt32 = 0
        for offset in 0..<4 { value = value << 4 | UInt32(hexDigit(bytes[start + offset]) ?? 0) }
        return value
    }

    private static func plain(_ mark: UInt8) -> UInt8 {
        switch mark {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0c
        case UInt8(ascii: "n"): 0x0a
        case UInt8(ascii: "r"): 0x0d
        case UInt8(ascii: "t"): 0x09
        default: mark
        }
    }

    private static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }

    /// Appends a string with its quotation marks, escaping only what JSON requires.
    package static func appendQuoted(_ text: some StringProtocol, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        appendEscaped(text.utf8, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends the UTF-8 of a string without quotation marks, escaping only what JSON requires.
    @inline(__always)
    static func appendEscaped(_ text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        let isDone = text.withContiguousStorageIfAvailable { text in
            guard unsafe isPlain(UnsafeRawBufferPointer(text)) else { return false }
            unsafe bytes.append(contentsOf: text)
            return true
        }
        if isDone ?? false { return }
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""): bytes.append(contentsOf: "\\\"".utf8)
            case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\".utf8)
            case 0x0a: bytes.append(contentsOf: "\\n".utf8)
            case 0x0d: bytes.append(contentsOf: "\\r".utf8)
            case 0x09: bytes.append(contentsOf: "\\t".utf8)
            case 0..<0x20:
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(contentsOf: [UInt8(ascii: "0") + byte >> 4, lowerDigit(byte & 15)])
            default: bytes.append(byte)
            }
        }
    }

    /// Whether nothing in a text is escaped. It looks at all of it, many bytes at a time.
    private static func isPlain(_ text: UnsafeRawBufferPointer) -> Bool {
        var escapes: UInt8 = 0
        for index in 0..<text.count {
            let byte = unsafe text[index]
            escapes |= byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") ? 1 : 0
        }
        return escapes == 0
    }

    private static func lowerDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
