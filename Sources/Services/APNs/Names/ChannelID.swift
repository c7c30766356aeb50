/// The id of a broadcast channel as the provider issued it: opaque base64 of any length (Documentation/Protocols.md,
/// "A12. Broadcast channels").
package struct ChannelID: Hashable, Sendable, CustomStringConvertible {
    /// The largest length in bytes. Apple documents none; this one keeps the header field within the limits of servers.
    package static let maxLength = 1024

    package let text: String

    /// Creates an id; nil if `text` is empty, too long, or contains characters outside of the base64 alphabets.
    package init?(_ text: some StringProtocol) {
        guard (1...Self.maxLength).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else {
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
