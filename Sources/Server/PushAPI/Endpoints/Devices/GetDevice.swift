package import PushModel

/// `GET /v1/devices/{device}`: one device.
package struct GetDevice: Endpoint {
    package typealias Input = DevicePath

    package static let operation = Operation(
        .get, at: "/v1/devices/{device}", id: "getDevice", access: .role(.observe), subject: "Devices",
        summary: "Returns a device without its token.", problems: [.unknownDevice])

    private let lookup: DeviceLookup

    package init(devices: any DeviceDirectory) {
        lookup = DeviceLookup(devices: devices)
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<DeviceAnswer> {
        Reply(DeviceAnswer(try await lookup.device(input.device, for: caller)))
    }
}
