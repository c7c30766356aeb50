import PushAPI
import PushLoop
import PushModel
import PushStore
import PushText

/// `carillon messages`: shows messages and their outcomes.
enum MessagesVerb {
    static let verb = Verb(
        name: "messages", summary: "list recent messages, show the outcome of one, or cancel one",
        details: """
            Lists messages with their state and the counts of their outcomes, the newest first, or shows one of \
            them. Messages are known as long as their events are stored (events.retention).

            If no Carillon runs, the files of the data directory are read and not changed.
            """,
        words: [Word("MESSAGE", about: "a message id; if left out, recent messages are listed", isOptional: true)],
        options: [
            Option("app", value: "APP", about: "only messages of this app; with MESSAGE also a family of apps"),
            Option(
                "state", value: "STATE", offers: .choice(MessageSummary.State.self),
                about: "only messages in this state, or in several separated by commas: "
                    + "\(MessageSummary.State.allCases.map(\.rawValue).joined(separator: ", "))"
            ),
            Option(
                "user", value: "NAME",
                about: "only messages whose audience names this user; events store the first 10 users of a message"
            ),
            Option("since", value: "TIME", about: "only messages accepted since this time: \(Moment.about)"),
            Option("until", value: "TIME", about: "only messages accepted until this time"),
            Option("limit", value: "N", about: "the maximum number of messages (50)"),
        ] + ControlOptions.options + [TableDetail.option, ControlOptions.json],
        examples: [
            ("carillon messages --app shop", "list the recent messages of an app"),
            ("carillon messages --state waiting,sending", "list the messages that are not completed"),
            ("carillon messages --since 10m --user ada", "list what was accepted for a user in the last ten minutes"),
            ("carillon messages order-4711-shipped", "show one message; 'carillon trace' shows its events"),
            ("carillon messages sale --app everywhere", "show what became of a message in each app of a family"),
        ], verbs: [CancelVerb.verb]
    ) { arguments in
        if let id = arguments.wordIfGiven("MESSAGE") { return try await one(id, with: arguments) }
        return try await list(arguments)
    }

    private static func one(_ id: String, with arguments: Arguments) async throws -> ExitCode {
        for option in ["state", "limit", "user", "since", "until"] where arguments.has(option) {
            throw Failure(.usage, "'--\(option)' cannot be combined with a message id")
        }
        guard MessageID(id) != nil else {
            throw Failure(.usage, "a message id has 1 to 128 bytes and no control characters")
        }
        return try await ControlOptions.reading(arguments, for: "messages") { client in
            let message = try await client.ask(
                "GET",
                at: "/v1/messages/\(APIQuery.escaped(id))" + APIQuery.encoded([("app", arguments.text("app"))]),
                for: MessageSummary.self)
            if arguments.has("json") {
                ControlOptions.write(message)
            } else {
                let table = MessageTable(Terminal.output)
                let members = message.members.map { "\n" + table.list($0, in: TableDetail(.output, arguments)) }
                Terminal.output.write(table.one(message) + (members ?? ""))
            }
            return .done
        }
    }

    private static func list(_ arguments: Arguments) async throws -> ExitCode {
        let limit = try arguments.number("limit", in: 1...100_000) ?? 50
        try check(states: arguments.text("state"))
        let (since, until) = (try Moment.read("since", of: arguments), try Moment.read("until", of: arguments))
        return try await ControlOptions.reading(arguments, for: "messages") { client in
            try await list(from: client, since: since, until: until, limit: limit, with: arguments)
        }
    }

    private static func list(
        from client: ControlClient, since: WallTime?, until: WallTime?, limit: Int, with arguments: Arguments
    ) async throws -> ExitCode {
        var messages: [MessageSummary] = []
        var cursor: String?
        repeat {
            let page = try await client.ask(
                "GET",
                at: "/v1/messages"
                    + APIQuery.encoded([
                        ("app", arguments.text("app")), ("state", arguments.text("state")), ("after", cursor),
                        ("user", arguments.text("user")), ("since", since.map { "\($0)" }),
                        ("until", until.map { "\($0)" }),
                        ("limit", "\(min(limit - messages.count, ListMessages.maxPageSize))"),
                    ]), for: MessagePage.self)
            messages += page.messages
            cursor = page.next
        } while cursor != nil && messages.count < limit
        if arguments.has("json") {
            Terminal.output.write(
                messages.map { String(decoding: APIAnswer.json($0).body, as: UTF8.self) }.joined())
            if cursor != nil {
                Terminal.error.write("carillon messages: there may be more than \(limit); raise --limit\n")
            }
        } else {
            Terminal.output.write(
                messages.isEmpty
                    ? "There are no matching messages in the stored events.\n"
                    : MessageTable(Terminal.output).list(messages, in: TableDetail(.output, arguments)))
            if cursor != nil { Terminal.output.write("There may be more than \(limit); raise --limit.\n") }
            if arguments.has("user") {
                Terminal.output.write(
                    "Note: events store only the first 10 users of a message. Messages that name\n"
                        + "the user after 10 others are not listed.\n"
                )
            }
        }
        return .done
    }

    private static func check(states text: String?) throws(Failure) {
        let known = MessageSummary.State.allCases.map(\.rawValue)
        for word in text?.split(separator: ",", omittingEmptySubsequences: false) ?? []
        where !known.contains(String(word)) {
            let nearest = NearestWord.to(String(word), in: known)
            throw Failure(
                .usage,
                "'--state' must be one of \(known.joined(separator: ", ")), not '\(PlainText.line(String(word), limit: 60))'"
                    + (nearest.map { "; did you mean '\($0)'?" } ?? ""))
        }
    }
}

/// Formats messages for people.
struct MessageTable {
    private let terminal: Terminal

    init(_ terminal: Terminal) {
        self.terminal = terminal
    }

    private static let heading = [
        "accepted", "app", "message", "state", "devices", "sent", "rejected", "expired", "suppressed", "superseded",
        "unknown", "cancelled",
    ]

    private static let outcomes: Set = [
        "devices", "sent", "rejected", "expired", "suppressed", "superseded", "unknown", "cancelled",
    ]

    func list(_ messages: [MessageSummary], in detail: TableDetail) -> String {
        let rows = messages.map { message in
            [
                detail.time(message.acceptedAt), PlainText.line(message.app, limit: 64),
                PlainText.line(message.id, limit: 60), message.state.rawValue,
                message.devices.map { "\($0)" } ?? "-", "\(message.counts.sent)", "\(message.counts.rejected)",
                "\(message.counts.expired)", "\(message.counts.suppressed)", "\(message.counts.superseded)",
                "\(message.counts.unknown)", "\(message.counts.cancelled)",
            ]
        }
        let table = detail.table(Self.heading, rows: rows, optional: Self.outcomes)
        return terminal.table(table.heading, rows: table.rows) { column, cell in
            column == 3 ? MessageSummary.State(rawValue: cell).flatMap(Self.color) : nil
        }
    }

    private static func color(_ state: MessageSummary.State) -> Terminal.Color? {
        switch state {
        case .waiting, .sending, .expired, .cancelled: .yellow
        case .completed: .green
        case .rejected: .red
        }
    }

    func one(_ message: MessageSummary) -> String {
        let state = message.state.rawValue
        let counts = message.counts
        let outcomes: [(name: String, number: Int64)] = [
            ("sent", counts.sent), ("rejected", counts.rejected), ("expired", counts.expired),
            ("suppressed", counts.suppressed), ("superseded", counts.superseded), ("unknown", counts.unknown),
            ("cancelled", counts.cancelled),
        ].map { ($0, Int64(clamping: $1)) }
        var rows: [(name: String, text: String)] = [
            ("message", PlainText.line(message.id, limit: 128)), ("app", PlainText.line(message.app, limit: 64)),
            ("state", Self.color(message.state).map { terminal.colored(state, in: $0) } ?? state),
        ]
        if message.state == .rejected {
            let reason = message.reason.map { "\(PlainText.line($0, limit: 60)): " } ?? ""
            rows.append(("because", reason + ReasonDescription.rejection(message.reason)))
            if let detail = message.detail { rows.append(("detail", PlainText.line(detail))) }
            if let client = RequestDescription(message.request).client { rows.append(("from", "the client \(client)")) }
            return PlainText.rows(rows, on: terminal)
        }
        rows.append(("accepted", DeviceTable.time(message.acceptedAt) ?? "before the oldest stored event"))
        if message.acceptances > 1 { rows.append(("", "\(message.acceptances) times, for other devices")) }
        let words = RequestDescription(message.request)
        if let client = words.client { rows.append(("from", "the client \(client)")) }
        if message.duplicates > 0 {
            rows.append(("submitted again", EventDescription.count(Int64(message.duplicates), of: "time")))
        }
        rows.append(("for", words.audience(devices: message.devices.map { Int64(clamping: $0) })))
        if let options = words.options { rows.append(("options", options)) }
        rows.append(
            (
                message.state == .completed ? "outcome" : "so far",
                counts.total == 0 && message.state != .completed ? "nothing" : EventDescription.counts(outcomes)
            ))
        if message.retries > 0 {
            rows.append(("tried again", EventDescription.count(Int64(clamping: message.retries), of: "time")))
        }
        if let client = message.cancelledBy {
            rows.append(("cancelled by", "the client \(PlainText.line(client, limit: 64))"))
        }
        if let time = DeviceTable.time(message.completedAt) { rows.append(("completed", time)) }
        if !message.isWhole {
            rows.append(("", "not all its events could be read: the counts are minimums"))
        }
        return PlainText.rows(rows, on: terminal)
    }
}
