package import PushModel

/// `GET /v1/export/devices`: the devices with their tokens.
///
/// It is a path of its own, so that the right to see tokens is another one than the right to see devices.
package struct ExportDevices: Endpoint {
    package typealias Input = DeviceSearch

    package static let operation = Operation(
        .get, at: "/v1/export/devices", id: "exportDevices", access: .role(.operate), subject: "Devices",
        summary: "Returns devices with their tokens, for a backup.", problems: [.unknownApp],
        records: [.operatorDevicesExport])

    private let devices: any DeviceDirectory
    private let apps: AppCatalog

    package init(devices: any DeviceDirectory, apps: AppCatalog) {
        self.devices = devices
        self.apps = apps
    }

    package func answer(_ input: DeviceSearch, for caller: Caller) async throws -> Reply<DeviceExportAnswer> {
        let list = try await input.page(of: devices, apps: apps, for: caller)
        return Reply(
            DeviceExportAnswer(
                devices: list.devices.map { ExportedDevice($0, codec: apps.codec(of: $0.app)) },
                next: PageCursor(list.next?.text)),
            change: OperatorChange(
                .operatorDevicesExport, app: try caller.app(for: input.app), of: "\(list.devices.count) devices",
                after: input.filters.isEmpty ? nil : "by " + input.filters.joined(separator: ", ")))
    }
}
