/// A text as a key, equal to those with the same bytes and to no others.
///
/// Swift takes the two spellings of é for the same text, and SQLite, hashes and every other language do not: code that
/// keeps texts from outside in a `Set<String>` loses one of the two users that are named so.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (one: ExactText, other: ExactText) -> Bool { one.text.isExactly(other.text) }

    package func hash(into hasher: inout Hasher) { text.hashExactly(into: &hasher) }
}

extension String {
    /// Whether the bytes are the same.
    package func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    package func hashExactly(into hasher: inout Hasher) {
        var text = self
        text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // Of two that stand one behind the other it is to be told where the first ends.
        hasher.combine(0xff as UInt8)
    }
}
