import PushModel
import PushWire

/// The text of an address in a request, before the push service of its app has read it.
package struct AddressText: Hashable, Sendable, CustomStringConvertible {
    package static let maxLength = 3 * Address.maxLength

    package let text: String
    /// Whether the text is that of a JSON object, which some push services have as addresses.
    package let isObject: Bool

    package init?(_ text: String, isObject: Bool = false) {
        guard (1...Self.maxLength).contains(text.utf8.count) else { return nil }
        self.text = text
        self.isObject = isObject
    }

    func address(of codec: any ServiceCodec) throws(AddressFault) -> Address {
        isObject ? try codec.address(object: text) : try codec.address(givenAs: text)
    }

    /// Addresses are secrets.
    package var description: String { "an address" }
}
