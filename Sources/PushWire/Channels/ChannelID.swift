/// A broadcast channel, as the provider named it: opaque, base64, of any length (PROTOCOLS A12).
package struct ChannelID: Hashable, Sendable, CustomStringConvertible {
    /// None is documented; this keeps a header field within what servers take.
    package static let maximumLength = 1024

    package let text: String

    /// Nil when it is empty, too long, or not of the base64 alphabets.
    package init?(_ text: some StringProtocol) {
        guard (1...Self.maximumLength).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        self.text = String(text)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    package var description: String { text }
}
