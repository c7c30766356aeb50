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
    package init?(lastPartOf path: UnsafeRawBufferPointer) {
        var end = path.count
        while end > 0, unsafe path[end - 1] == UInt8(ascii: "/") { end -= 1 }
        var start = end
        while start > 0, unsafe path[start - 1] != UInt8(ascii: "/") {
            start -= 1
            guard end - start <= Self.maxLength, unsafe (0x21..<0x7f).contains(path[start]) else { return nil }
        }
        guard start < end else { return nil }
        self.init(unsafe String(decoding: UnsafeRawBufferPointer(rebasing: path[start..<end]), as: UTF8.self))
    }

    package init?(lastPartOf path: String) {
        var path = path
        guard let id = path.withUTF8({ unsafe ProviderID(lastPartOf: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = id
    }
}
