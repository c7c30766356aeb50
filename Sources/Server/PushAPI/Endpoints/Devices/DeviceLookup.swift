import PushModel

/// Finds the devices of endpoints that name one.
struct DeviceLookup: Sendable {
    let devices: any DeviceDirectory

    /// Returns the device.
    ///
    /// - Throws: `unknown_device`, also if the device belongs to an app for which the caller has no right: a key must
    ///   not find out which devices other apps have.
    func device(_ id: DeviceID, for caller: Caller) async throws -> DeviceRecord {
        guard let device = try await devices.device(id), caller.has(device.app) else {
            throw Problem(.unknownDevice, detail: "there is no device \(id)")
        }
        return device
    }

    /// Returns the device of an app.
    func device(_ id: DeviceID, in app: AppID, for caller: Caller) async throws -> DeviceRecord {
        let device = try await device(id, for: caller)
        guard device.app == app else {
            throw Problem(.unknownDevice, detail: "there is no device \(id) in this app")
        }
        return device
    }
}
