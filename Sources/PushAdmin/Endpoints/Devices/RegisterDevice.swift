package import PushModel

/// `POST /v1/apps/{app}/devices`: a device registers, or is there again. Apps call it at each launch.
package struct RegisterDevice: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID
        let token: Address
        let properties: DeviceProperties
        let environment: PushEnvironment?
        let replaces: Address?

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app.")
            token = read.body("token", as: .token, about: "The token of the device.")
            properties = DeviceProperties(&read)
            environment = read.optional(
                "environment", as: .choice,
                about: "The environment of the token. A token of another environment than the app's is rejected.")
            replaces = read.optional(
                "replaces", as: .token,
                about: "The former token of the device. Its properties are carried over, and it is deactivated.")
            read.require(
                replaces == nil || replaces != token, at: "replaces",
                detail: "the former token is the same as the new one")
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/apps/{app}/devices", id: "registerDevice", access: .role(.register), subject: "Devices",
        summary: "Registers a device, or refreshes and reactivates a known one.", body: .jsonOrForm,
        example: [
            "token": .string(DeviceInput.exampleToken), "user": "ada", "tags": ["beta", "vip"], "locale": "de_AT",
            "platform": "ios",
        ],
        answers: [
            .init(201, about: "The device was unknown and is registered."),
            .init(200, about: "The device was known, or was inactive and is active again."),
        ], problems: [.unknownApp])

    private let devices: any DeviceBook
    private let apps: KnownApps

    package init(devices: any DeviceBook, apps: KnownApps) {
        self.devices = devices
        self.apps = apps
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<DeviceChangeAnswer> {
        try caller.check(input.app)
        try await apps.check(input.app, has: input.environment)
        var device = DeviceRegistration(app: input.app, token: input.token)
        input.properties.set(in: &device)
        device.replaces = input.replaces
        guard let done = try await devices.register([device]).first else {
            throw Problem(.internal, detail: "the registry returned no result for the device")
        }
        return Reply(DeviceChangeAnswer(done), status: done.change == .registered ? 201 : 200)
    }
}
