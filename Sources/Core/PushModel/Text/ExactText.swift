/// A text as a key that equals only texts with the same bytes.
///
/// Swift treats the two Unicode spellings of é as equal; SQLite, hash functions and most other languages do not. Code
/// that keeps texts from outside in a `Set<String>` would lose one of two users whose names differ in that way.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (one: ExactText, other: ExactText) -> Bool { one.text.isExactly(other.text) }

    package func hash(into hasher: inout Hasher) { text.hashExactly(into: &hasher) }
}

extension String {
    /// Whether both texts have the same bytes.
    package func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    package func hashExactly(into hasher: inout Hasher) {
        var text = self
        text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // A terminator, so that two texts hashed one after the other have an unambiguous boundary.
        hasher.combine(0xff as UInt8)
    }
}
