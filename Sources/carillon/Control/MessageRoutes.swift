import PushModel
import PushTransport

/// `/v1/messages`: what became of messages.
struct MessageRoutes: Sendable {
    static let largestPage = 200

    private let history: MessageHistory

    init(events: any EventLog) {
        history = MessageHistory(log: events)
    }

    var all: [ControlRoute] {
        [
            ControlRoute(.get, "/v1/messages", query: ["app", "state", "user", "since", "until", "after", "limit"]) {
                request in
                var filter = MessageHistory.Filter()
                filter.app = try app(request.query)
                filter.states = try states(request.query.text("state"))
                filter.user = request.query.text("user")
                filter.since = try request.query.number("since", in: 0...Int64.max)
                filter.until = try request.query.number("until", in: 0...Int64.max)
                return try await history.list(
                    filter, before: try before(request.query.text("after")),
                    limit: try request.query.number("limit", in: 1...Self.largestPage) ?? 50)
            },
            ControlRoute(.get, "/v1/messages/{id}", query: ["app"]) { request in
                guard let id = MessageID(request.parameter("id")) else {
                    throw ControlFault.badRequest("a message id has 1 to 128 bytes and no control characters")
                }
                let found = try await history.one(id, app: try app(request.query))
                guard let message = found.first else {
                    throw ControlFault(
                        404, "unknown_message",
                        "there is no message \"\(id)\" in the kept events: it was never handed in, or is older than they are"
                    )
                }
                guard found.count == 1 else {
                    throw ControlFault.badRequest(
                        "the apps \(found.map(\.app).joined(separator: ", ")) have a message of that id each; name the app"
                    )
                }
                return message
            },
        ]
    }

    private func app(_ query: ControlQuery) throws(ControlFault) -> AppID? {
        guard let name = query.text("app") else { return nil }
        guard let app = AppID(name) else { throw .unknownApp(PlainText.line(name, limit: 80)) }
        return app
    }

    /// Words with commas between.
    private func states(_ text: String?) throws(ControlFault) -> Set<MessageAnswer.State> {
        var states: Set<MessageAnswer.State> = []
        for word in text?.split(separator: ",") ?? [] {
            guard let state = MessageAnswer.State(rawValue: String(word)) else {
                let all = MessageAnswer.State.allCases.map(\.rawValue).joined(separator: ", ")
                throw .badRequest("state is one of \(all), not \"\(PlainText.line(String(word), limit: 60))\"")
            }
            states.insert(state)
        }
        return states
    }

    private func before(_ cursor: String?) throws(ControlFault) -> UInt64? {
        guard let cursor else { return nil }
        guard let number = UInt64(cursor), number > 0 else {
            throw .badRequest("after is not what an answer named as next")
        }
        return number
    }
}
