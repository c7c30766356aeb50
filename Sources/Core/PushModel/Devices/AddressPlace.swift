/// Which of the addresses of an installation an address is. A part that is nil was not stated; in a registration it
/// keeps what is stored.
package struct AddressPlace: Sendable, Hashable {
    /// An address whose kind was not stated counts as one for alerts, and messages of all types may be sent to it.
    package var kind: AddressKind?
    /// The name of the Live Activity that the address updates.
    package var activity: String?
    /// The type of the Live Activities that the address starts or updates.
    package var activityType: String?
    /// The name of the installation, which the app chooses.
    package var installation: String?

    package init(kind: AddressKind? = nil) {
        self.kind = kind
    }
}
