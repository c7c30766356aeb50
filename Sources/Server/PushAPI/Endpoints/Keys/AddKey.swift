package import PushModel
package import PushTime

/// `POST /v1/keys`: makes an API key. The answer has its secret, this once.
package struct AddKey: Endpoint {
    package struct Input: EndpointInput {
        let name: APIKeyName
        let roles: [Role]
        let apps: [AppID]?
        let from: [AddressRange]
        let lifetime: Duration?
        let allowsBearer: Bool
        let rate: Int?

        package init(_ read: inout InputReader) {
            name = read.body("name", as: .keyName, about: "The name of the key, for people and logs.")
            roles = read.body(
                "roles", as: .list(of: .choice, count: 1...Role.allCases.count), about: "What the key may do.")
            apps = read.optional(
                "apps", as: .list(of: .app, count: 1...APIKey.maxApps),
                about: "The apps of the key; all apps if it is absent.")
            from =
                read.optional(
                    "from", as: .list(of: .addresses, count: 1...APIKey.maxRanges),
                    about: "The addresses of its clients; any if it is absent.") ?? []
            lifetime = read.optional(
                "expires_in_ms", as: .integer(1000...36_525 * 86_400_000), about: "The time until the key ends."
            ).map { (time: Int64) in .milliseconds(time) }
            allowsBearer =
                read.optional(
                    "bearer", as: .flag, about: "Whether requests may bear the secret instead of a signature.") ?? false
            rate = read.optional(
                "rate", as: .integer(1...APIKey.maxRate), about: "The maximum number of requests in a second.")
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/keys", id: "addKey", access: .role(.admin), subject: "Keys",
        summary: "Makes an API key, and returns its secret this once.", body: .json,
        example: ["name": "orders", "roles": ["push"], "apps": ["shop"], "rate": 100],
        answers: [.init(201, about: "The key, with its secret.")], problems: [.unknownApp, .conflict],
        records: [.operatorKeyAdd])

    private let registrar: KeyRegistrar
    private let apps: AppCatalog
    private let now: @Sendable () -> WallTime

    package init(registrar: KeyRegistrar, apps: AppCatalog, now: @escaping @Sendable () -> WallTime) {
        self.registrar = registrar
        self.apps = apps
        self.now = now
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<MadeKeyAnswer> {
        // A key for some apps must not make one for others.
        try caller.mustActForAllApps()
        for app in input.apps ?? [] { try apps.check(app) }
        var draft = KeyDraft(name: input.name, roles: RoleSet(input.roles))
        draft.apps = input.apps.map { apps in apps.indices.filter { !apps[..<$0].contains(apps[$0]) }.map { apps[$0] } }
        draft.from = input.from.indices.filter { !input.from[..<$0].contains(input.from[$0]) }.map { input.from[$0] }
        (draft.lifetime, draft.allowsBearer, draft.rate) = (input.lifetime, input.allowsBearer, input.rate)
        let made = try await KeyEndpoints.changing { [draft] in try await registrar.add(draft) }
        return Reply(
            MadeKeyAnswer(made, at: now()), status: 201,
            change: OperatorChange(.operatorKeyAdd, of: "key \(input.name.text)", after: made.key.rights))
    }
}
