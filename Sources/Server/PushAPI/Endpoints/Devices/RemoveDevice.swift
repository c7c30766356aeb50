package import PushModel

/// `DELETE /v1/apps/{app}/devices/{device}`: erases the data of a device.
package struct RemoveDevice: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID
        let device: DeviceID

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app.")
            device = read.path("device", as: .device, about: "The device id.")
        }
    }

    package static let operation = Operation(
        .delete, at: "/v1/apps/{app}/devices/{device}", id: "removeDevice", access: .role(.operate), subject: "Devices",
        summary: "Erases the token, user and tags of a device; its id stays in past events.",
        problems: [.unknownDevice],
        records: [.operatorDeviceRemove])

    private let devices: any DeviceDirectory
    private let lookup: DeviceLookup

    package init(devices: any DeviceDirectory) {
        self.devices = devices
        lookup = DeviceLookup(devices: devices)
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<RemovalAnswer> {
        try caller.check(input.app)
        let device = try await lookup.device(input.device, in: input.app, for: caller)
        let removed = try await devices.remove([device.id])
        return Reply(
            RemovalAnswer(id: device.id.description, removed: removed.contains(device.id)),
            change: OperatorChange(
                .operatorDeviceRemove, app: device.app, of: "device \(device.id)",
                before: device.isActive ? "active" : "inactive", after: "erased"))
    }
}
