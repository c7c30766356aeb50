package import PushModel

/// `POST /v1/apps/{app}/devices`: a device registers, or is there again. Apps call it at each launch.
package struct RegisterDevice: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID
        let token: AddressText
        let place: AddressPlace
        let properties: DeviceProperties
        let environment: String?
        let replaces: AddressText?

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app.")
            token = read.body("token", as: .address, about: "The token of the device.")
            place = AddressPlace(&read)
            properties = DeviceProperties(&read)
            environment = read.optional(
                "environment", as: .text(1...32),
                about: "The environment of the token. A token of another environment than the app's is rejected.")
            replaces = read.optional(
                "replaces", as: .address,
                about: "The former token of the device. Its properties are carried over, and it is deactivated.")
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

    private let devices: any DeviceDirectory
    private let apps: AppCatalog

    package init(devices: any DeviceDirectory, apps: AppCatalog) {
        self.devices = devices
        self.apps = apps
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<DeviceChangeAnswer> {
        try caller.check(input.app)
        try apps.check(input.app, has: input.environment)
        let token = try apps.address(input.token, of: input.app, at: "token")
        var device = DeviceRegistration(app: input.app, token: token)
        if let fault = input.place.fault(for: apps.codec(of: input.app)) {
            throw Problem.invalid(
                InputFault(.badValue, at: .pointer("/\(fault.member)"), detail: fault.description))
        }
        device.place = input.place
        input.properties.set(in: &device)
        try apps.check(zone: device.timeZone)
        if let replaces = input.replaces {
            let former = try apps.address(replaces, of: input.app, at: "replaces")
            guard former != token else {
                throw Problem.invalid(
                    InputFault(
                        .badValue, at: .pointer("/replaces"), detail: "the former token is the same as the new one"))
            }
            device.replaces = former
        }
        guard let done = try await devices.register([device]).first else {
            throw Problem(.internal, detail: "the registry returned no result for the device")
        }
        if done.change == .tooMany { throw Problem.invalid(.fullInstallation) }
        return Reply(DeviceChangeAnswer(done), status: done.change == .registered ? 201 : 200)
    }
}
