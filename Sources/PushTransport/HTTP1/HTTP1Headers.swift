/// Header fields in their order. Names compare without regard to case; a name may occur more than once.
package struct HTTP1Headers: Equatable, Sendable, ExpressibleByDictionaryLiteral {
    package struct Field: Equatable, Sendable {
        package let name: String
        package let value: String
    }

    package private(set) var fields: [Field] = []

    package init() {}

    package init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    package mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// The first value under this name. Use `all` where a second one would matter.
    package subscript(name: String) -> String? {
        fields.first { isSameToken($0.name, name) }?.value
    }

    package func all(_ name: String) -> [String] {
        fields.filter { isSameToken($0.name, name) }.map(\.value)
    }

    /// Each element of the comma-separated lists under this name, trimmed.
    func listed(_ name: String) -> [Substring] {
        var elements: [Substring] = []
        for field in fields where isSameToken(field.name, name) {
            for element in field.value.split(separator: ",") {
                elements.append(trimmed(element))
            }
        }
        return elements
    }

    private func trimmed(_ text: Substring) -> Substring {
        let front = text.drop { $0 == " " || $0 == "\t" }
        guard let last = front.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return front[...last]
    }
}

/// ASCII comparison without regard to case, as HTTP defines it for names and most tokens.
func isSameToken(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
    let (left, right) = (left.utf8, right.utf8)
    return left.count == right.count && zip(left, right).allSatisfy { lowercased($0) == lowercased($1) }
}

private func lowercased(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
}

/// RFC 9110 §5.6.2: what names and methods are made of.
func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "^")...UInt8(ascii: "z"):
        return true
    default:
        return byte == UInt8(ascii: "!") || (byte >= UInt8(ascii: "#") && byte <= UInt8(ascii: "'"))
            || byte == UInt8(ascii: "*") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "|") || byte == UInt8(ascii: "~")
    }
}

/// RFC 9110 §5.5: visible characters, spaces, tabs and bytes above ASCII; no other control character.
func isFieldValueByte(_ byte: UInt8) -> Bool {
    byte >= 0x20 ? byte != 0x7f : byte == 0x09
}
