package import PushModel

/// `PUT /v1/apps/{app}/devices/{device}`: changes the properties of a known device.
///
/// An app proves by the token that the device is its own, and its request counts as a registration. A change by an
/// operator neither activates the device nor counts as a sign of life.
package struct ChangeDevice: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID
        let device: DeviceID
        let token: AddressText?
        let properties: DeviceProperties

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app.")
            device = read.path("device", as: .device, about: "The device id.")
            token = read.optional(
                "token", as: .address, about: "The token of the device. Keys without the role operate must send it.")
            properties = DeviceProperties(&read)
        }
    }

    package static let operation = Operation(
        .put, at: "/v1/apps/{app}/devices/{device}", id: "changeDevice", access: .roles([.register, .operate]),
        subject: "Devices",
        summary: "Changes the user, the tags and other properties of a device.", body: .jsonOrForm,
        example: ["user": "ada", "tags": ["beta", "vip"]], problems: [.unknownDevice, .conflict],
        records: [.operatorDeviceChange])

    private let devices: any DeviceDirectory
    private let lookup: DeviceLookup
    private let identities: Identities
    private let apps: AppCatalog

    package init(devices: any DeviceDirectory, identities: Identities, apps: AppCatalog) {
        self.devices = devices
        lookup = DeviceLookup(devices: devices)
        self.identities = identities
        self.apps = apps
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<DeviceChangeAnswer> {
        try caller.check(input.app)
        let token = try input.token.map { text throws(Problem) in
            try apps.address(text, of: input.app, at: "token")
        }
        if let token, identities.device(of: input.app, token: token) != input.device {
            throw Problem(.forbidden, detail: "the token is not that of the device \(input.device)")
        }
        var device: DeviceRegistration
        if caller.allows(.operate) {
            let known = try await lookup.device(input.device, in: input.app, for: caller)
            guard let token = known.token else { throw Problem.withoutToken(input.device) }
            device = DeviceRegistration(app: input.app, token: token)
            device.purpose = .change
        } else {
            guard let token else {
                throw Problem(
                    .forbidden, detail: "the key \(caller.name) may change a device only with its token; send token")
            }
            device = DeviceRegistration(app: input.app, token: token)
            device.purpose = .refresh
        }
        input.properties.set(in: &device)
        try apps.check(zone: device.timeZone)
        guard let done = try await devices.register([device]).first, done.change != .missing else {
            throw Problem(.unknownDevice, detail: "there is no device \(input.device)")
        }
        if done.change == .tooMany { throw Problem.invalid(.fullInstallation) }
        return Reply(
            DeviceChangeAnswer(done),
            change: OperatorChange(
                .operatorDeviceChange, app: input.app, of: "device \(input.device)",
                after: "other " + input.properties.names.joined(separator: ", ")))
    }
}

extension InputFault {
    /// The fault of an address that an installation has no room for.
    static var fullInstallation: InputFault {
        InputFault(
            .tooMany, at: .pointer("/installation"),
            detail: "the installation has as many addresses as it may have (limits.addresses_per_installation)")
    }
}

extension Problem {
    static func withoutToken(_ device: DeviceID) -> Problem {
        Problem(
            .conflict,
            detail: "the token of the device \(device) is unknown: only answers of the push service have named it")
    }
}
