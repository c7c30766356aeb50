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
}
