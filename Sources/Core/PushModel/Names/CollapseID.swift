/// An identifier of at most 64 bytes. Notifications with the same collapse id replace each other on the device.
package struct CollapseID: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    /// Creates a collapse id; nil if `text` is empty, too long, or contains characters that a header field cannot
    /// carry.
    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), !ControlCharacters.occur(in: text.utf8),
            text.utf8.first != 0x20, text.utf8.last != 0x20
        else { return nil }
        self.text = text
    }

    package var description: String { text }

    // Compares bytes, as the ledger and the push service do.
    package static func == (one: CollapseID, other: CollapseID) -> Bool { one.text.isExactly(other.text) }
    package func hash(into hasher: inout Hasher) { text.hashExactly(into: &hasher) }
}
