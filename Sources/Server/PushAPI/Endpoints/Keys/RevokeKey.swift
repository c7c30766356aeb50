package import PushModel
package import PushTime

/// `POST /v1/keys/{name}/revoke`: ends a key at once, with its connections and streams.
package struct RevokeKey: Endpoint {
    package struct Input: EndpointInput {
        let name: APIKeyName

        package init(_ read: inout InputReader) {
            name = read.path("name", as: .keyName, about: "The name of the key.")
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/keys/{name}/revoke", id: "revokeKey", access: .role(.admin), subject: "Keys",
        summary: "Ends a key at once, with its open connections and streams.", problems: [.unknownKey],
        records: [.operatorKeyRevoke])

    private let registrar: KeyRegistrar
    private let now: @Sendable () -> WallTime

    package init(registrar: KeyRegistrar, now: @escaping @Sendable () -> WallTime) {
        self.registrar = registrar
        self.now = now
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<KeyListAnswer> {
        try caller.mustActForAllApps()
        let revoked = try await KeyEndpoints.changing { try await registrar.revoke(input.name) }
        return Reply(
            KeyListAnswer(keys: revoked.map { KeyAnswer($0, at: now()) }),
            change: OperatorChange(
                .operatorKeyRevoke, of: "key \(input.name.text)", before: revoked.first?.rights, after: "revoked"))
    }
}
