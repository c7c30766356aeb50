/// The name that a push service gave to a delivery when it took it.
package struct ProviderID: Sendable, Equatable {
    /// The member of the event that has the name.
    package enum Member: Sendable {
        case providerID
        /// The name in Apple's delivery log, beside the `apns_id` that Carillon chose.
        case apnsUniqueID
    }

    package let text: String
    package let member: Member

    package init(_ text: String, member: Member = .providerID) {
        self.text = text
        self.member = member
    }

    /// The longest name that is kept.
    private static let maxLength = 128

    /// Takes the last part of a path; nil if there is none, if it is long, or if it has other than printable characters.
    package init?(lastPartOf path: String) {
        let bytes = path.utf8
        var end = bytes.endIndex
        while end > bytes.startIndex, bytes[bytes.index(before: end)] == UInt8(ascii: "/") {
            end = bytes.index(before: end)
        }
        var start = end
        while start > bytes.startIndex, bytes[bytes.index(before: start)] != UInt8(ascii: "/") {
            start = bytes.index(before: start)
        }
        let part = bytes[start..<end]
        guard (1...Self.maxLength).contains(part.count), part.allSatisfy({ (0x21..<0x7f).contains($0) }) else {
            return nil
        }
        self.init(String(Substring(part)))
    }
}
