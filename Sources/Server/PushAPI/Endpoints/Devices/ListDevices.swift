package import PushModel

/// `GET /v1/devices`: the devices of the registry.
package struct ListDevices: Endpoint {
    package typealias Input = DeviceSearch

    package static let operation = Operation(
        .get, at: "/v1/devices", id: "listDevices", access: .role(.observe), subject: "Devices",
        summary: "Returns devices without their tokens, in a stable order.", problems: [.unknownApp])

    private let devices: any DeviceDirectory
    private let apps: AppCatalog

    package init(devices: any DeviceDirectory, apps: AppCatalog) {
        self.devices = devices
        self.apps = apps
    }

    package func answer(_ input: DeviceSearch, for caller: Caller) async throws -> Reply<DeviceListAnswer> {
        let list = try await input.page(of: devices, apps: apps, for: caller)
        return Reply(
            DeviceListAnswer(devices: list.devices.map { DeviceAnswer($0) }, next: PageCursor(list.next?.text)))
    }
}
