package import PushModel
package import PushStore

/// `GET /v1/apps/{app}/messages/{id}`: one message of an app, or of a family.
package struct GetMessage: Endpoint {
    package typealias Input = MessagePath

    package static let operation = Operation(
        .get, at: "/v1/apps/{app}/messages/{id}", id: "getMessage", access: .role(.observe), subject: "Messages",
        summary: "Returns a message with its audience, options, client and counts.", problems: [.unknownMessage])

    private let lookup: MessageLookup

    init(_ lookup: MessageLookup) {
        self.lookup = lookup
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<MessageSummary> {
        Reply(try await lookup.message(input.id, of: input.app, for: caller))
    }
}
