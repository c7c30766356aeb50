package import PushModel
package import PushStore

/// `GET /v1/messages/{id}`: one message, of whichever app has it.
package struct FindMessage: Endpoint {
    package struct Input: EndpointInput {
        let id: MessageID
        let app: AppID?

        package init(_ read: inout InputReader) {
            id = read.path("id", as: .message, about: "The message id.")
            app = read.query(
                "app", as: .app,
                about: "The app, or a family; needed if several apps have a message with this id.")
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/messages/{id}", id: "findMessage", access: .role(.observe), subject: "Messages",
        summary: "Returns a message by its id, whatever its app.",
        problems: [.unknownMessage])

    private let lookup: MessageLookup

    init(_ lookup: MessageLookup) {
        self.lookup = lookup
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<MessageSummary> {
        if let app = input.app { return Reply(try await lookup.message(input.id, of: app, for: caller)) }
        let found = try await lookup.one(input.id, app: try caller.app(for: nil))
        guard let message = found.first else { throw Self.unknown(input.id) }
        guard found.count == 1 else { throw ambiguous(found.map(\.app)) }
        return Reply(await lookup.obstacles.explained(message))
    }

    private func ambiguous(_ apps: [String]) -> Problem {
        let families = lookup.apps.familyNames(with: apps)
        let other = families.isEmpty ? "" : ", or the family \(families.joined(separator: " or "))"
        return Problem.invalid(
            InputFault(
                .missing, at: .parameter("app"),
                detail: "the apps \(apps.joined(separator: ", ")) each have a message with this id; "
                    + "name the app\(other)"))
    }

    static func unknown(_ id: MessageID) -> Problem {
        Problem(
            .unknownMessage,
            detail: "there is no message \"\(id)\" in the kept events: it was never submitted, or its events have "
                + "expired")
    }
}
