/// Notifications with the same collapse id replace each other on the device. At most 64 bytes.
package struct CollapseID: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    /// Nil when empty, too long, or with what a header field cannot carry.
    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), !ControlCharacters.occur(in: text.utf8),
            text.utf8.first != 0x20, text.utf8.last != 0x20
        else { return nil }
        self.text = text
    }

    package var description: String { text }

    // By bytes, as the ledger and the push service compare them.
    package static func == (one: CollapseID, other: CollapseID) -> Bool { one.text.isExactly(other.text) }
    package func hash(into hasher: inout Hasher) { text.hashExactly(into: &hasher) }
}
