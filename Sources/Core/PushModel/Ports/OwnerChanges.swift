/// The devices that were removed or have another user lately, by which messages whose devices were found before are
/// stopped. All threads may read it.
package protocol OwnerChanges: AnyObject, Sendable {
    /// The number of the latest change. It is read before devices are looked up.
    var latest: UInt32 { get }

    /// Returns why nothing is sent to a device that was found after the change with this number; nil if it is as it was.
    func obstacle(
        to device: DeviceID, foundAt number: UInt32, of message: AcceptedMessage
    ) -> DeliveryOutcome.Suppression?
}

/// For registries without users.
package final class NoOwnerChanges: OwnerChanges {
    package init() {}

    package var latest: UInt32 { 0 }
    package func obstacle(
        to device: DeviceID, foundAt number: UInt32, of message: AcceptedMessage
    ) -> DeliveryOutcome.Suppression? { nil }
}
