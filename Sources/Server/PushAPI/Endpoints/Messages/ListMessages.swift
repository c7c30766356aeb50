package import PushModel
package import PushStore
import PushTime

/// `GET /v1/messages`: the latest messages.
package struct ListMessages: Endpoint {
    package static let maxPageSize = 200

    package struct Input: EndpointInput {
        let app: AppID?
        let states: [MessageSummary.State]?
        let user: String?
        let since: WallTime?
        let until: WallTime?
        let before: LogPosition?
        let limit: Int

        package init(_ read: inout InputReader) {
            app = read.query("app", as: .app, about: "Only messages of this app.")
            states = read.query(
                "state", as: .list(of: .choice, count: 1...MessageSummary.State.allCases.count),
                about: "Only messages in one of these states, separated by commas.")
            user = read.query("user", as: .text(1...1024), about: "Only messages whose audience names this user.")
            since = read.query("since", as: .time, about: "Only messages that were accepted at this time or later.")
            until = read.query("until", as: .time, about: "Only messages that were accepted at this time or earlier.")
            before = read.query("after", as: .placeWithin, about: "The next of an earlier page.")
            limit =
                read.query("limit", as: .integer(1...maxPageSize), about: "The size of the page; 50 by default.") ?? 50
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/messages", id: "listMessages", access: .role(.observe), subject: "Messages",
        summary: "Returns messages with their states and counts, the latest first.",
        problems: [.unknownApp])

    private let history: MessageHistory
    private let apps: AppCatalog

    package init(history: MessageHistory, apps: AppCatalog) {
        self.history = history
        self.apps = apps
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<MessageListAnswer> {
        var filter = MessageHistory.Filter()
        filter.app = try caller.app(for: input.app)
        if let app = input.app { try apps.check(app) }
        filter.states = Set(input.states ?? [])
        (filter.user, filter.since, filter.until) = (input.user, input.since, input.until)
        try history.log.check(input.before, in: "after")
        return Reply(MessageListAnswer(try await history.page(filter, before: input.before, limit: input.limit)))
    }
}
