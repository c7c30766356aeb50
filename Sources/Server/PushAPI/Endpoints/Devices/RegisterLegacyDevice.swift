import PushConfiguration
import PushLoop
package import PushModel
import PushTime
import PushTransport

/// `POST` to the path of `http.legacy_registration`: apps in the field, which have no key, register their devices.
///
/// The request has only a token, so that it can neither read nor change anything else. Each address may send few of
/// them.
package struct RegisterLegacyDevice: Endpoint {
    package struct Input: EndpointInput {
        let token: AddressText
        let peer: HTTP1Peer

        package init(_ read: inout InputReader) {
            token = read.body("token", as: .address, about: "The token of the device.")
            // These apps cannot be changed, whatever else they send.
            read.ignoreOthers()
            peer = read.peer
        }
    }

    package static let operation = Operation(
        .post, at: Configuration.HTTP.LegacyRegistration.defaultPath, id: "registerLegacyDevice", access: .open,
        subject: "Devices",
        summary: "Registers a device of an app that has no key.", body: .form,
        example: ["token": .string(DeviceInput.exampleToken)],
        problems: [.unknownApp, .tooManyRequests])

    private let app: AppID
    private let devices: any DeviceDirectory
    private let apps: AppCatalog
    private let rates = Locked(AddressRates(burst: 60, interval: .seconds(1), limit: 10_000))

    package init(_ app: AppID, devices: any DeviceDirectory, apps: AppCatalog) {
        self.app = app
        self.devices = devices
        self.apps = apps
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<DeviceChangeAnswer> {
        if let wait = rates.withLock({ $0.take(from: input.peer, now: .current()) }) {
            var problem = Problem(
                .tooManyRequests, detail: "this address has registered too many devices; try again later")
            problem.retryAfterMilliseconds = max(1, wait.wholeMilliseconds)
            throw problem
        }
        try apps.check(app)
        let token = try apps.address(input.token, of: app, at: "token")
        guard let done = try await devices.register([DeviceRegistration(app: app, token: token)]).first else {
            throw Problem(.internal, detail: "the registry returned no result for the device")
        }
        return Reply(DeviceChangeAnswer(done))
    }
}
