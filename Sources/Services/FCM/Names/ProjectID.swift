/// The id of a Firebase project. It is a part of the path of each request.
package struct ProjectID: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    /// Nil for a text with characters that ids do not have, such as a slash.
    package init?(_ text: String) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.text = text
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    package var description: String { text }
}
