/// Header fields in order. Names are compared without regard to case. A name may occur more than once.
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

    package mutating func add(_ name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// The first value of this name. Use ``all(_:)`` if further values matter.
    package subscript(name: String) -> String? {
        fields.first { $0.name.isSameToken(as: name) }?.value
    }

    package func all(_ name: String) -> [String] {
        fields.filter { $0.name.isSameToken(as: name) }.map(\.value)
    }

    /// Returns the trimmed elements of the comma-separated lists of this name.
    func listed(_ name: String) -> [Substring] {
        var elements: [Substring] = []
        for field in fields where field.name.isSameToken(as: name) {
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

extension StringProtocol {
    /// Compares ASCII text without regard to case, as HTTP defines it for names and most tokens.
    func isSameToken(as other: some StringProtocol) -> Bool {
        let (left, right) = (utf8, other.utf8)
        return left.count == right.count && zip(left, right).allSatisfy { lowercase($0) == lowercase($1) }
    }
}

private func lowercase(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
}

/// Returns whether the byte may occur in a name or method (RFC 9110, section 5.6.2).
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

/// Returns whether the byte may occur in a field value: visible characters, spaces, tabs and bytes above ASCII, but no
/// other control characters (RFC 9110, section 5.5).
func isFieldValueByte(_ byte: UInt8) -> Bool {
    byte >= 0x20 ? byte != 0x7f : byte == 0x09
}
