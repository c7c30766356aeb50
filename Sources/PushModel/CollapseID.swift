/// Notifications with the same collapse id replace each other on the device. At most 64 bytes.
package struct CollapseID: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    /// Nil when empty, too long, or with what a header field cannot carry.
    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }),
            text.utf8.first != 0x20, text.utf8.last != 0x20
        else { return nil }
        self.text = text
    }

    package var description: String { text }
}
