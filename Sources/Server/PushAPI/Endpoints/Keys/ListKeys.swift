package import PushModel
package import PushTime

/// `GET /v1/keys`: the API keys, without their secrets.
package struct ListKeys: Endpoint {
    package static let maxPageSize = 1000

    package struct Input: EndpointInput {
        let withEnded: Bool
        let after: APIKeyID?
        let limit: Int

        package init(_ read: inout InputReader) {
            withEnded = read.query("ended", as: .flag, about: "Also keys that have ended.") ?? false
            after = read.query("after", as: .keyID, about: "The next of an earlier page.")
            limit =
                read.query("limit", as: .integer(1...maxPageSize), about: "The size of the page; 100 by default.")
                ?? 100
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/keys", id: "listKeys", access: .role(.admin), subject: "Keys",
        summary: "Returns the API keys in the order of their creation.")

    private let registrar: KeyRegistrar
    private let now: @Sendable () -> WallTime

    package init(registrar: KeyRegistrar, now: @escaping @Sendable () -> WallTime) {
        self.registrar = registrar
        self.now = now
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<KeyListAnswer> {
        let now = now()
        let all = registrar.keys
        var start = 0
        if let after = input.after {
            // The cursor is the id of the last key of a page. Keys are forgotten 90 days after their end.
            guard let index = all.firstIndex(where: { $0.id == after }) else {
                throw Problem.invalid(
                    InputFault(.badValue, at: .parameter("after"), detail: "this is not the next of an earlier page"))
            }
            start = index + 1
        }
        let rest = all[start...].filter { key in
            guard input.withEnded || key.isValid(at: now) else { return false }
            // A caller that is limited to some apps sees the keys of these apps only.
            guard let apps = caller.apps else { return true }
            return key.apps?.allSatisfy { apps.contains($0) } ?? false
        }
        return Reply(
            KeyListAnswer(
                keys: rest.prefix(input.limit).map { KeyAnswer($0, at: now) },
                next: rest.count > input.limit ? rest[input.limit - 1].id.description : nil))
    }
}
