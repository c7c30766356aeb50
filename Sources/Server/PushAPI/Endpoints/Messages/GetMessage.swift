package import PushModel
package import PushStore

/// `GET /v1/apps/{app}/messages/{id}`: one message of an app.
package struct GetMessage: Endpoint {
    package typealias Input = MessagePath

    package static let operation = Operation(
        .get, at: "/v1/apps/{app}/messages/{id}", id: "getMessage", access: .role(.observe), subject: "Messages",
        summary: "Returns a message with its audience, options, client and counts.", problems: [.unknownMessage])

    private let history: MessageHistory
    private let obstacles: ObstacleSearch

    init(history: MessageHistory, obstacles: ObstacleSearch) {
        self.history = history
        self.obstacles = obstacles
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<MessageSummary> {
        try caller.check(input.app)
        guard let message = try await history.one(input.id, app: input.app).first else {
            throw FindMessage.unknown(input.id)
        }
        return Reply(await obstacles.explained(message))
    }
}
