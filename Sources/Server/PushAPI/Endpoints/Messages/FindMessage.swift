package import PushModel
package import PushStore

/// `GET /v1/messages/{id}`: one message, of whichever app has it.
package struct FindMessage: Endpoint {
    package struct Input: EndpointInput {
        let id: MessageID
        let app: AppID?

        package init(_ read: inout InputReader) {
            id = read.path("id", as: .message, about: "The message id.")
            app = read.query("app", as: .app, about: "The app; needed if several apps have a message with this id.")
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/messages/{id}", id: "findMessage", access: .role(.observe), subject: "Messages",
        summary: "Returns a message by its id, whatever its app.",
        problems: [.unknownMessage])

    private let history: MessageHistory
    private let obstacles: ObstacleSearch

    init(history: MessageHistory, obstacles: ObstacleSearch) {
        self.history = history
        self.obstacles = obstacles
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<MessageSummary> {
        let app = try caller.app(for: input.app)
        let found = try await history.one(input.id, app: app)
        guard let message = found.first else { throw Self.unknown(input.id) }
        guard found.count == 1 else {
            let apps = found.map(\.app).joined(separator: ", ")
            throw Problem.invalid(
                InputFault(
                    .missing, at: .parameter("app"),
                    detail: "the apps \(apps) each have a message with this id; name the app"))
        }
        return Reply(await obstacles.explained(message))
    }

    static func unknown(_ id: MessageID) -> Problem {
        Problem(
            .unknownMessage,
            detail: "there is no message \"\(id)\" in the kept events: it was never submitted, or its events have "
                + "expired")
    }
}
