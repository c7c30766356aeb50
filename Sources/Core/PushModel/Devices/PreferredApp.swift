/// An app of a family in which a user gets a message rather than in the app of the message.
package struct PreferredApp: Sendable, Hashable {
    package let app: AppID
    /// The kind of the addresses that the message of that app may be sent to.
    package let kind: AddressKind

    package init(_ app: AppID, kind: AddressKind) {
        self.app = app
        self.kind = kind
    }

    /// The largest number of apps before another one of its family.
    package static let maxCount = Family.maxMembers - 1
}
