/// The registry as operators and their tools use it.
package protocol DeviceDirectory: AnyObject, Sendable {
    /// Registers all of the devices or none, and returns the results in the same order. Publishes `device.registered`
    /// and `device.reactivated`.
    func register(_ devices: [DeviceRegistration]) async throws -> [RegisteredDevice]

    func device(_ id: DeviceID) async throws -> DeviceRecord?

    /// Returns a page of devices in a stable order that does not depend on registrations and removals. `after` is the
    /// cursor of the previous page; throws ``BadCursor`` if it is not a cursor.
    func list(_ filter: DeviceFilter, after: AudienceCursor?, limit: Int) async throws -> DeviceList

    /// Deactivates devices for an operator and returns those that were active. Publishes `device.deactivated`.
    func deactivate(_ devices: [DeviceID], reason: String) async throws -> [DeviceID]

    /// Makes inactive devices active again for an operator, and returns those that were inactive and have a token.
    /// Publishes `device.reactivated`. Only deactivations that are decided later apply to them.
    func reactivate(_ devices: [DeviceID]) async throws -> [DeviceID]

    /// Erases the data of the devices (token, user, tags and so on) and returns those that existed. Their ids remain in
    /// past events. Publishes `device.deactivated` with the reason `removed`.
    func remove(_ devices: [DeviceID]) async throws -> [DeviceID]

    /// Erases all data of devices but their ids and kinds, and returns those that existed. They are inactive, and have
    /// the pseudonym as their user. Publishes `device.deactivated` with the reason `erased`.
    func erase(_ devices: [DeviceID], as pseudonym: String) async throws -> [DeviceID]

    /// Makes erased data unreadable in the files.
    func wipe() async throws
}

extension DeviceDirectory {
    package func erase(_ devices: [DeviceID], as pseudonym: String) async throws -> [DeviceID] {
        try await remove(devices)
    }

    package func wipe() async throws {}
}

package struct DeviceList: Sendable {
    package let devices: [DeviceRecord]
    /// The cursor of the next page; nil on the last page.
    package let next: AudienceCursor?

    package init(devices: [DeviceRecord], next: AudienceCursor?) {
        self.devices = devices
        self.next = next
    }
}
