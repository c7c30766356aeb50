/// What a producer calls its message: 1 to 128 bytes of UTF-8 without control characters.
package struct MessageID: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package init?(_ text: String) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            return nil
        }
        self.text = text
    }

    package var description: String { text }
}
