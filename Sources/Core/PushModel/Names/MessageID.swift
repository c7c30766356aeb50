/// The producer's identifier of a message: 1 to 128 bytes of UTF-8 without control characters.
package struct MessageID: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package init?(_ text: String) {
        guard (1...128).contains(text.utf8.count), !ControlCharacters.occur(in: text.utf8) else { return nil }
        self.text = text
    }

    /// Creates the id of a message that was accepted earlier. It ignores the rule for control characters, which may not
    /// have existed then: every accepted message is carried out.
    package init?(accepted text: String) {
        guard (1...128).contains(text.utf8.count) else { return nil }
        self.text = text
    }

    /// Creates an id from bytes that are known to be valid UTF-8.
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        guard (1...128).contains(bytes.count), unsafe !ControlCharacters.occur(in: bytes) else { return nil }
        text = unsafe String(decoding: bytes, as: UTF8.self)
    }

    package var description: String { text }

    // Compares bytes, as the ledger and the push service do.
    package static func == (one: MessageID, other: MessageID) -> Bool { one.text.isExactly(other.text) }
    package func hash(into hasher: inout Hasher) { text.hashExactly(into: &hasher) }
}
