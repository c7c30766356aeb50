package import PushModel
import PushStore
import PushText
import PushTransport

/// `/v1/messages`: the states and outcomes of messages.
package struct MessageRoutes: Sendable {
    package static let maxPageSize = 200

    private let history: MessageHistory

    package init(events: any EventLog) {
        history = MessageHistory(log: events)
    }

    package var all: [AdminRoute] {
        [
            AdminRoute(.get, at: "/v1/messages", query: ["app", "state", "user", "since", "until", "after", "limit"]) {
                request in
                var filter = MessageHistory.Filter()
                filter.app = try app(request.query)
                filter.states = try states(request.query.text("state"))
                filter.user = request.query.text("user")
                filter.since = try request.query.time("since")
                filter.until = try request.query.time("until")
                return try await history.list(
                    filter, before: try before(request.query.text("after")),
                    limit: try request.query.number("limit", in: 1...Self.maxPageSize) ?? 50)
            },
            AdminRoute(.get, at: "/v1/messages/{id}", query: ["app"]) { request in
                guard let id = MessageID(request.parameter("id")) else {
                    throw AdminFault.badRequest("a message id has 1 to 128 bytes and no control characters")
                }
                let found = try await history.one(id, app: try app(request.query))
                guard let message = found.first else {
                    throw AdminFault(
                        404, code: "unknown_message",
                        message:
                            "there is no message \"\(id)\" in the kept events: it was never submitted, or its events have "
                            + "expired"
                    )
                }
                guard found.count == 1 else {
                    throw AdminFault.badRequest(
                        "the apps \(found.map(\.app).joined(separator: ", ")) each have a message with this id; name the app"
                    )
                }
                return message
            },
        ]
    }

    private func app(_ query: AdminQuery) throws(AdminFault) -> AppID? {
        guard let name = query.text("app") else { return nil }
        guard let app = AppID(name) else { throw .unknownApp(PlainText.line(name, limit: 80)) }
        return app
    }

    /// Parses a list of states that are separated by commas.
    private func states(_ text: String?) throws(AdminFault) -> Set<MessageSummary.State> {
        var states: Set<MessageSummary.State> = []
        for word in text?.split(separator: ",") ?? [] {
            guard let state = MessageSummary.State(rawValue: String(word)) else {
                let all = MessageSummary.State.allCases.map(\.rawValue).joined(separator: ", ")
                throw .badRequest("state must be one of \(all), not \"\(PlainText.line(String(word), limit: 60))\"")
            }
            states.insert(state)
        }
        return states
    }

    private func before(_ cursor: String?) throws(AdminFault) -> UInt64? {
        guard let cursor else { return nil }
        guard let number = UInt64(cursor), number > 0 else {
            throw .badRequest("after must be the next of an earlier answer")
        }
        return number
    }
}
