package import PushModel
import PushWire

/// `POST /v1/devices/find`: the device with a token. The token is in the body, because paths and queries are logged.
package struct FindDevice: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID
        let token: AddressText

        package init(_ read: inout InputReader) {
            app = read.body("app", as: .app, about: "The app.")
            token = read.body("token", as: .address, about: "The token of the device.")
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/devices/find", id: "findDevice", access: .roles([.observe, .register]), subject: "Devices",
        summary: "Returns the device with a token.", body: .json,
        example: ["app": "shop", "token": .string(DeviceInput.exampleToken)], problems: [.unknownDevice])

    private let lookup: DeviceLookup
    private let identities: Identities
    private let apps: AppCatalog

    package init(devices: any DeviceDirectory, identities: Identities, apps: AppCatalog) {
        lookup = DeviceLookup(devices: devices)
        self.identities = identities
        self.apps = apps
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<DeviceAnswer> {
        try caller.check(input.app)
        let id = identities.device(
            of: input.app, token: try apps.address(input.token, of: input.app, at: "token"))
        return Reply(DeviceAnswer(try await lookup.device(id, for: caller)))
    }
}
