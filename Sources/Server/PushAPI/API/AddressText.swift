import PushModel

/// The text of an address in a request, before the push service of its app has read it.
package struct AddressText: Hashable, Sendable, CustomStringConvertible {
    package static let maxLength = 3 * Address.maxLength

    package let text: String

    package init?(_ text: String) {
        guard (1...Self.maxLength).contains(text.utf8.count) else { return nil }
        self.text = text
    }

    /// Addresses are secrets.
    package var description: String { "an address" }
}
