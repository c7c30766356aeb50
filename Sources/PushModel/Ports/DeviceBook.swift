/// The registry as people and their tools use it.
package protocol DeviceBook: AnyObject, Sendable {
    /// All of them or none; their outcomes in the same order. Publishes `device.registered` and `device.reactivated`.
    func register(_ devices: [DeviceRegistration]) async throws -> [RegisteredDevice]

    func device(_ id: DeviceID) async throws -> DeviceRecord?

    /// In an order of its own that does not change while devices come and go. `after`: the cursor of the page before;
    /// throws `BadCursor` if it is none.
    func list(_ filter: DeviceFilter, after: AudienceCursor?, limit: Int) async throws -> DeviceList

    /// By hand. Publishes `device.deactivated`. Which of them were active until now.
    func deactivate(_ devices: [DeviceID], reason: String) async throws -> [DeviceID]

    /// Erases what is known of them: token, user, tags and the rest. Their ids stay in past events. Publishes
    /// `device.deactivated` with the reason `removed`. Which of them were there until now.
    func remove(_ devices: [DeviceID]) async throws -> [DeviceID]
}

package struct DeviceList: Sendable {
    package let devices: [DeviceRecord]
    /// Nil when this was the last page.
    package let next: AudienceCursor?

    package init(devices: [DeviceRecord], next: AudienceCursor?) {
        self.devices = devices
        self.next = next
    }
}
