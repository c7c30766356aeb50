package import PushModel

/// `POST /v1/devices/{device}/reactivate`: messages are sent to an inactive device again.
///
/// It is a trial: if the push service rejects the token again, the device is deactivated again.
package struct ReactivateDevice: Endpoint {
    package typealias Input = DevicePath

    package static let operation = Operation(
        .post, at: "/v1/devices/{device}/reactivate", id: "reactivateDevice", access: .role(.operate),
        subject: "Devices",
        summary: "Sends to an inactive device again, until the push service rejects its token again.",
        problems: [.unknownDevice, .conflict],
        records: [.operatorDeviceReactivate])

    private let devices: any DeviceDirectory
    private let lookup: DeviceLookup

    package init(devices: any DeviceDirectory) {
        self.devices = devices
        lookup = DeviceLookup(devices: devices)
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<ReactivationAnswer> {
        let device = try await lookup.device(input.device, for: caller)
        guard device.token != nil else { throw Problem.withoutToken(device.id) }
        let active = try await devices.reactivate([device.id])
        return Reply(
            ReactivationAnswer(id: device.id.description, reactivated: active.contains(device.id)),
            change: OperatorChange(
                .operatorDeviceReactivate, app: device.app, of: "device \(device.id)",
                before: device.isActive ? "active" : "inactive", after: "active"))
    }
}
