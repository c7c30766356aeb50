package import PushModel

/// `POST /v1/devices/{device}/deactivate`: no more messages are sent to a device, until it registers again.
package struct DeactivateDevice: Endpoint {
    package struct Input: EndpointInput {
        let device: DeviceID
        let reason: String

        package init(_ read: inout InputReader) {
            device = read.path("device", as: .device, about: "The device id.")
            reason = read.body("reason", as: .text(1...200), about: "The reason, for its events.")
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/devices/{device}/deactivate", id: "deactivateDevice", access: .role(.operate),
        subject: "Devices",
        summary: "Sends nothing more to a device until it registers again.", body: .json,
        example: ["reason": "lost"], problems: [.unknownDevice],
        records: [.operatorDeviceDeactivate])

    private let devices: any DeviceDirectory
    private let lookup: DeviceLookup

    package init(devices: any DeviceDirectory) {
        self.devices = devices
        lookup = DeviceLookup(devices: devices)
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<DeactivationAnswer> {
        let device = try await lookup.device(input.device, for: caller)
        let ended = try await devices.deactivate([device.id], reason: input.reason)
        return Reply(
            DeactivationAnswer(id: device.id.description, deactivated: ended.contains(device.id)),
            change: OperatorChange(
                .operatorDeviceDeactivate, app: device.app, of: "device \(device.id)",
                before: device.isActive ? "active" : "inactive", after: "inactive"))
    }
}
