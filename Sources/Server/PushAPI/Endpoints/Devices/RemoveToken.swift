package import PushModel

/// `POST /v1/apps/{app}/devices/remove`: erases the data of the device with a token, or of all addresses of an
/// installation. Both are in the body, because paths and queries are logged.
package struct RemoveToken: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID
        let token: AddressText?
        let installation: String?

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app.")
            token = read.optional("token", as: .address, about: "The token of the device.")
            installation = read.optional(
                "installation", as: .text(1...DeviceInput.maxInstallationLength),
                about: "The installation, of which all addresses are erased.")
            read.requireOne(of: "token", or: "installation", detail: "send either token or installation")
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/apps/{app}/devices/remove", id: "removeToken", access: .roles([.register, .operate]),
        subject: "Devices",
        summary: """
            Erases the token, user and tags of the device with a token, or of all addresses of an installation; ids stay \
            in past events.
            """,
        body: .jsonOrForm, example: ["token": .string(DeviceInput.exampleToken)],
        records: [.operatorDeviceRemove])

    private let devices: any DeviceDirectory
    private let identities: Identities
    private let apps: AppCatalog

    package init(devices: any DeviceDirectory, identities: Identities, apps: AppCatalog) {
        self.devices = devices
        self.identities = identities
        self.apps = apps
    }

    /// A request for an unknown device succeeds, too: a client that repeats a request has lost the first answer.
    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<RemovalAnswer.OneOrMany> {
        try caller.check(input.app)
        if let installation = input.installation {
            let answer = try await remove(installation, of: input.app)
            return Reply(
                .many(answer),
                change: OperatorChange(
                    .operatorDeviceRemove, app: input.app,
                    of: "addresses of an installation: " + answer.devices.joined(separator: ", "),
                    before: "\(answer.devices.count)", after: "erased"))
        }
        guard let token = input.token else {
            throw Problem.invalid(InputFault(.missing, at: .pointer("/token"), detail: "the value is missing"))
        }
        let device = identities.device(of: input.app, token: try apps.address(token, of: input.app, at: "token"))
        let removed = try await devices.remove([device])
        let wasKnown = removed.contains(device)
        let change = OperatorChange(
            .operatorDeviceRemove, app: input.app, of: "device \(device)", before: wasKnown ? "known" : "unknown",
            after: "erased")
        // An app that there never was would get a topic of its own.
        let isOfApp = wasKnown || apps.contains(input.app)
        return Reply(
            .one(RemovalAnswer(id: device.description, removed: wasKnown)), change: isOfApp ? change : nil)
    }

    /// Removes all addresses of an installation, at least those that it has at the beginning.
    private func remove(_ installation: String, of app: AppID) async throws -> InstallationRemovalAnswer {
        try apps.check(app)
        var filter = DeviceFilter()
        (filter.app, filter.installation) = (app, installation)
        var removed: [DeviceID] = []
        var cursor: AudienceCursor?
        repeat {
            let page = try await devices.list(filter, after: cursor, limit: DeviceSearch.maxPageSize)
            removed += try await devices.remove(page.devices.map(\.id))
            cursor = page.next
        } while cursor != nil
        return InstallationRemovalAnswer(
            installation: installation, devices: removed.map(\.description), removed: !removed.isEmpty)
    }
}
