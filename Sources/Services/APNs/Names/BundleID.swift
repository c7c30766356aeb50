/// Apple's name of an app: `com.example.shop`. It is used in topics and paths and consists of letters, digits, `.`, `-`
/// and `_`.
package struct BundleID: Hashable, Sendable, CustomStringConvertible {
    package static let maxLength = 155

    package let text: String

    package init?(_ text: String) {
        guard (1...Self.maxLength).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        self.text = text
    }

    /// Returns whether a bundle id may contain the byte.
    package static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    package var description: String { text }
}
