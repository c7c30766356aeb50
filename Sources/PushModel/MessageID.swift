/// What a producer calls its message: 1 to 128 bytes of UTF-8 without control characters.
package struct MessageID: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package init?(_ text: String) {
        guard (1...128).contains(text.utf8.count), !ControlCharacters.occur(in: text.utf8) else { return nil }
        self.text = text
    }

    /// As it was accepted once, which may have been under other rules: what was accepted is carried out.
    package init?(accepted text: String) {
        guard (1...128).contains(text.utf8.count) else { return nil }
        self.text = text
    }

    /// The same from UTF-8 that has been checked.
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        guard (1...128).contains(bytes.count), unsafe !ControlCharacters.occur(in: bytes) else { return nil }
        text = unsafe String(decoding: bytes, as: UTF8.self)
    }

    package var description: String { text }

    // By bytes, as the ledger and the push service compare them.
    package static func == (one: MessageID, other: MessageID) -> Bool { one.text.isExactly(other.text) }
    package func hash(into hasher: inout Hasher) { text.hashExactly(into: &hasher) }
}
