package import PushModel

/// `POST /v1/apps/{app}/devices/remove`: erases the data of the device with a token. The token is in the body, because
/// paths and queries are logged.
package struct RemoveToken: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID
        let token: AddressText

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app.")
            token = read.body("token", as: .address, about: "The token of the device.")
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/apps/{app}/devices/remove", id: "removeToken", access: .roles([.register, .operate]),
        subject: "Devices",
        summary: "Erases the token, user and tags of the device with a token; its id stays in past events.",
        body: .jsonOrForm, example: ["token": .string(DeviceInput.exampleToken)])

    private let devices: any DeviceBook
    private let identities: Identities
    private let apps: AppCatalog

    package init(devices: any DeviceBook, identities: Identities, apps: AppCatalog) {
        self.devices = devices
        self.identities = identities
        self.apps = apps
    }

    /// A request for an unknown device succeeds, too: a client that repeats a request has lost the first answer.
    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<RemovalAnswer> {
        try caller.check(input.app)
        let device = identities.device(
            of: input.app, token: try apps.address(input.token, of: input.app, at: "token"))
        let removed = try await devices.remove([device])
        return Reply(RemovalAnswer(id: device.description, removed: removed.contains(device)))
    }
}
