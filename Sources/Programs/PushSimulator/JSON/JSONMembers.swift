/// The members of an object in JSON text that ``JSONScanner`` has found to be valid. A value keeps the bytes that it
/// has in the text.
struct JSONMembers {
    private let bytes: ByteView
    private var position = 1

    /// - Parameter value: Valid JSON. Nil is returned unless it is an object.
    init?(_ value: ByteView) {
        bytes = Self.trimmed(value)
        guard bytes.count >= 2, bytes[0] == UInt8(ascii: "{") else { return nil }
    }

    /// Returns the next key, without its quotes, and its value; nil at the end.
    mutating func next() -> (key: ByteView, value: ByteView)? {
        skip { Self.isBlank($0) || $0 == UInt8(ascii: ",") }
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return nil }
        let start = position + 1
        skipString()
        let key = bytes.slice(from: start, to: max(start, position - 1))
        skip { Self.isBlank($0) || $0 == UInt8(ascii: ":") }
        let begin = position
        skipValue()
        return (key, bytes.slice(from: begin, to: position))
    }

    /// Returns the value of a key; of duplicate keys, the last. Nil if there is none, or if the text is not an object.
    static func value(_ key: StaticString, in object: ByteView) -> ByteView? {
        guard var members = JSONMembers(object) else { return nil }
        var found: ByteView?
        while let member = members.next() {
            if isKey(member.key, named: key) { found = member.value }
        }
        return found
    }

    /// Whether a key of the text, as it stands between its quotes, is this one.
    static func isKey(_ key: ByteView, named name: StaticString) -> Bool {
        key.contains(UInt8(ascii: "\\")) ? JSONEscapes.resolves(key, to: name) : key.equals(name)
    }

    /// Returns the text of a value; nil unless it is a string.
    static func string(_ value: ByteView) -> [UInt8]? {
        guard value.count >= 2, value[0] == UInt8(ascii: "\"") else { return nil }
        return JSONEscapes.resolve(value.slice(from: 1, to: value.count - 1))
    }

    static func isObject(_ value: ByteView) -> Bool { !value.isEmpty && value[0] == UInt8(ascii: "{") }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09
    }

    private static func trimmed(_ text: ByteView) -> ByteView {
        var start = 0
        var end = text.count
        while start < end, isBlank(text[start]) { start += 1 }
        while end > start, isBlank(text[end - 1]) { end -= 1 }
        return text.slice(from: start, to: end)
    }

    private mutating func skip(while isSkipped: (UInt8) -> Bool) {
        while position < bytes.count, isSkipped(bytes[position]) { position += 1 }
    }

    /// Skips a string, from its opening quote to after the closing one.
    private mutating func skipString() {
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            position += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { break }
        }
        position = min(position, bytes.count)
    }

    private mutating func skipValue() {
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                skipString()
                if depth == 0 { return }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // The end of the object around the value.
                if depth == 0 { return }
                depth -= 1
                position += 1
                if depth == 0 { return }
            case UInt8(ascii: ","), 0x20, 0x0a, 0x0d, 0x09:
                if depth == 0 { return }
                position += 1
            default: position += 1
            }
        }
    }
}
