package import PushModel
package import PushTime

/// `POST /v1/keys/{name}/rotate`: replaces a key, which stays valid for an overlap.
package struct RotateKey: Endpoint {
    package struct Input: EndpointInput {
        let name: APIKeyName
        let overlap: Int64

        package init(_ read: inout InputReader) {
            name = read.path("name", as: .keyName, about: "The name of the key.")
            overlap = read.body(
                "overlap_ms", as: .integer(0...KeyRegistrar.maxOverlap.components.seconds * 1000),
                about: "The time for which the old key stays valid.")
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/keys/{name}/rotate", id: "rotateKey", access: .role(.admin), subject: "Keys",
        summary: "Replaces a key by a new one with the same rights, and returns its secret this once.", body: .json,
        example: ["overlap_ms": 3_600_000],
        problems: [.unknownKey],
        records: [.operatorKeyRotate])

    private let registrar: KeyRegistrar
    private let now: @Sendable () -> WallTime

    package init(registrar: KeyRegistrar, now: @escaping @Sendable () -> WallTime) {
        self.registrar = registrar
        self.now = now
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<MadeKeyAnswer> {
        try caller.mustActForAllApps()
        let before = registrar.valid(input.name).map(\.id.description)
        let made = try await KeyEndpoints.changing {
            try await registrar.rotate(input.name, overlap: .milliseconds(input.overlap))
        }
        return Reply(
            MadeKeyAnswer(made, at: now()),
            change: OperatorChange(
                .operatorKeyRotate, of: "key \(input.name.text)", before: before.joined(separator: ", "),
                after: "\(made.key.id.description); \(made.key.rights)"))
    }
}
