import PushLoop

/// `carillon events`: what happened, from the ledger of a running Carillon, and what happens.
enum EventsVerb {
    static let verb = Verb(
        name: "events", summary: "show what happened, and with --follow what happens",
        options: [
            Option("follow", "go on with what happens, until Ctrl-C"),
            Option(
                "since", "WHEN",
                "all that are numbered above a seq (0: all that are kept), or since a time:\n\(Moment.about)"),
            Option("until", "TIME", "only what happened until then"),
            Option("prefix", "TOPIC", "only topics that begin so: family/app/kind, as in delivery/shop/rejected"),
            Option("limit", "N", "end after so many (100, unless --since or --follow is given)"),
        ] + ControlOptions.options + [Option("json", "for machines: each event as it is, one JSON object a line")],
        examples: [
            ("carillon events", "the last hundred"),
            ("carillon events --follow --prefix delivery/shop/", "deliveries of one app, as they happen"),
            (
                "carillon events --since 10m --prefix delivery/shop/rejected",
                "what was refused in the last ten minutes?"
            ),
            ("carillon events --since 918273 --json", "everything after an event that you have seen"),
            ("carillon events --follow --prefix credential/", "does a credential need attention?"),
        ]
    ) { arguments in
        let follows = arguments.has("follow")
        let (since, sinceTime) = try start(arguments.text("since"))
        let until = try Moment.read("until", of: arguments)
        if follows, until != nil { throw Failure(.usage, "'--until' goes without '--follow', which has no end") }
        let limit = try arguments.number("limit", in: 1...1_000_000_000)
        var run = EventsRun(
            client: try ControlOptions.client(arguments), prefix: arguments.text("prefix"),
            isJSON: arguments.has("json"))
        (run.since, run.until) = (sinceTime, until)
        let begins = since != nil || sinceTime != nil || until != nil
        if !follows, !begins { return try await run.last(limit ?? 100) }
        guard follows else { return try await run.forward(since: since ?? 0, limit: limit ?? .max, follows: false) }
        return try await Interruption.end { [run] in
            try await run.forward(since: since ?? (sinceTime == nil ? nil : 0), limit: limit ?? .max, follows: true)
        }
    }

    /// The number of an event, or a time in milliseconds since 1970.
    private static func start(_ text: String?) throws(Failure) -> (seq: UInt64?, time: Int64?) {
        guard let text else { return (nil, nil) }
        if let number = UInt64(text), number < 1_000_000_000_000 { return (number, nil) }
        if let time = Moment.read(text, now: .current()) { return (nil, time) }
        throw Failure(
            .usage,
            "'--since' wants the number of an event (its seq) or a time: \(Moment.about); not "
                + "'\(PlainText.line(text, limit: 60))'")
    }
}

/// Asks for events page by page and shows them.
struct EventsRun: Sendable {
    let client: ControlClient
    let prefix: String?
    let isJSON: Bool
    /// Only what happened in that time, milliseconds since 1970.
    var since: Int64?
    var until: Int64?
    private let words = EventWords()

    init(client: ControlClient, prefix: String?, isJSON: Bool) {
        self.client = client
        self.prefix = prefix
        self.isJSON = isJSON
    }

    func last(_ count: Int) async throws -> ExitCode {
        var left = min(count, EventRoutes.mostEvents)
        let page = try await ask([("last", "\(left)")])
        tell(damaged: page)
        _ = show(page, &left)
        if page.lines.isEmpty, !isJSON { Terminal.error.write("no such events are kept\n") }
        return .done
    }

    /// - Parameter since: nil begins with what happens next.
    func forward(since: UInt64?, limit: Int, follows: Bool) async throws -> ExitCode {
        var left = limit
        var at: UInt64
        if let since {
            at = since
        } else {
            at = try await ask([("last", "0")]).newest
        }
        var hasAnswered = false
        var connection = ConnectionWatch(verb: "events")
        while left > 0 {
            let page: EventPage
            do {
                page = try await ask([
                    ("since", "\(at)"), ("limit", "\(min(left, 1000))"),
                    ("since_at", since.map { "\($0)" }), ("until_at", until.map { "\($0)" }),
                    ("wait", follows ? "\(EventRoutes.longestWait)" : nil),
                ])
            } catch let failure as Failure where hasAnswered && follows && failure.mayPass {
                try await connection.lost(failure)
                continue
            } catch let failure as Failure where hasAnswered {
                throw Failure(failure.code, "\(failure); go on later with --since \(at)")
            }
            hasAnswered = true
            connection.stands()
            if page.oldest > at + 1 {
                Terminal.error.write(
                    "carillon events: events \(at + 1) to \(page.oldest - 1) are not kept any more: the retention removed them\n"
                )
            }
            tell(damaged: page)
            guard show(page, &left) else { return .done }
            let isAtEnd = page.next <= at && page.lines.isEmpty || !page.hasMore && page.next >= page.newest
            at = max(at, page.next)
            if !follows, isAtEnd { return .done }
        }
        return .done
    }

    private func ask(_ query: [(name: String, value: String?)]) async throws -> EventPage {
        let answer = try await client.send(
            "GET", "/v1/events" + ControlQuery.encoded(query + [("prefix", prefix)]))
        guard answer.status == 200 else { throw ControlClient.refusal(answer) }
        return try EventPage(answer.body)
    }

    private func tell(damaged page: EventPage) {
        for first in page.damaged {
            Terminal.error.write(
                "carillon events: the part of the event log that begins with number \(first) is damaged and passed over\n"
            )
        }
    }

    /// False once nobody reads it any more.
    private func show(_ page: EventPage, _ left: inout Int) -> Bool {
        var text = ""
        for line in page.lines.prefix(left) {
            text += isJSON ? String(decoding: line, as: UTF8.self) : readable(line)
            text += "\n"
        }
        left -= min(left, page.lines.count)
        return text.isEmpty || Terminal.output.write(text)
    }

    private func readable(_ line: [UInt8]) -> String {
        guard let event = EventRecord(line) else { return PlainText.line(String(decoding: line, as: UTF8.self)) }
        let terminal = Terminal.output
        let time = WallTime(milliseconds: event.time).iso8601
        let app = event.app.map { "\(PlainText.line($0, limit: 64)): " } ?? ""
        let sentence = terminal.hanging(
            app + words.sentence(event), indent: time.count + "\(event.seq)".count + 4
        ) { line in words.colour(event).map { terminal.coloured(line, $0) } ?? line }
        return "\(terminal.coloured(time, .dim))  \(event.seq)  \(sentence)"
    }
}
