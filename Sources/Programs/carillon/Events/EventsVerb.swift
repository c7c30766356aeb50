import PushAPI
import PushLoop
import PushModel
import PushText

/// `carillon events`: shows events from the ledger of a running Carillon, and follows new ones.
enum EventsVerb {
    static let verb = Verb(
        name: "events", summary: "show past events, and with --follow new ones",
        details: """
            Shows events of the log, the last 100 if nothing else is asked: accepted messages, outcomes of \
            deliveries, connections, credentials and devices. With --follow, it waits for new ones until it is \
            interrupted, also across restarts of Carillon.

            If no Carillon runs, the files of the data directory are read and not changed; --follow needs a \
            running one.
            """,
        options: [
            Option("follow", about: "wait for new events and show them, until Ctrl-C"),
            Option(
                "since", value: "WHEN",
                about: "only events after this sequence number (0: all stored events), or since a time: \(Moment.about)"
            ),
            Option("until", value: "TIME", about: "only events until this time"),
            Option(
                "prefix", value: "TOPIC",
                about: "only topics with this prefix: family/app/kind, as in delivery/shop/rejected"),
            Option("limit", value: "N", about: "stop after N events (100, unless --since or --follow is given)"),
        ] + ControlOptions.options + [Option("json", about: "print each event as stored, one JSON object per line")],
        examples: [
            ("carillon events", "show the last 100 events"),
            ("carillon events --follow --prefix delivery/shop/", "follow the deliveries of one app"),
            (
                "carillon events --since 10m --prefix delivery/shop/rejected",
                "show the deliveries that were rejected in the last ten minutes"
            ),
            ("carillon events --since 918273 --json", "print all events after number 918273"),
            ("carillon events --follow --prefix credential/", "watch for credentials that need attention"),
        ]
    ) { arguments in
        let follows = arguments.has("follow")
        let (since, sinceTime) = try start(arguments.text("since"))
        let until = try Moment.read("until", of: arguments)
        if follows, until != nil { throw Failure(.usage, "'--until' cannot be combined with '--follow'") }
        let limit = try arguments.number("limit", in: 1...1_000_000_000)
        let begins = since != nil || sinceTime != nil || until != nil
        let run = { @Sendable (client: ControlClient) in
            var run = EventsRun(client: client, prefix: arguments.text("prefix"), isJSON: arguments.has("json"))
            (run.since, run.until) = (sinceTime, until)
            return run
        }
        guard follows else {
            return try await ControlOptions.reading(arguments, for: "events") { client in
                if !begins { return try await run(client).last(limit ?? 100) }
                return try await run(client).forward(
                    since: since ?? LogPosition(), limit: limit ?? .max, follows: false)
            }
        }
        let client = try ControlOptions.client(arguments)
        return try await Interruption.end {
            try await run(client).forward(
                since: since ?? (sinceTime == nil ? nil : LogPosition()), limit: limit ?? .max, follows: true)
        }
    }

    /// Parses `--since`: the sequence number of an event, or a time.
    private static func start(_ text: String?) throws(Failure) -> (place: LogPosition?, time: WallTime?) {
        guard let text else { return (nil, nil) }
        if let place = LogPosition(text), !place.isNumber || place[0] < 1_000_000_000_000 { return (place, nil) }
        if let time = Moment.read(text, now: .current()) { return (nil, time) }
        throw Failure(
            .usage,
            "'--since' must be the sequence number of an event or a time: \(Moment.about); not "
                + "'\(PlainText.line(text, limit: 60))'")
    }
}

/// Requests events page by page and prints them.
struct EventsRun: Sendable {
    let client: ControlClient
    let prefix: String?
    let isJSON: Bool
    /// The first and last time of the events to show.
    var since: WallTime?
    var until: WallTime?
    private let description = EventDescription()

    init(client: ControlClient, prefix: String?, isJSON: Bool) {
        self.client = client
        self.prefix = prefix
        self.isJSON = isJSON
    }

    func last(_ count: Int) async throws -> ExitCode {
        var left = min(count, ReadEvents.maxEvents)
        let page = try await ask([("last", "\(left)")])
        report(damaged: page)
        _ = show(page, atMost: &left)
        if page.lines.isEmpty, !isJSON { Terminal.error.write("no matching events\n") }
        return .done
    }

    /// Prints events in their order.
    ///
    /// - Parameter since: The place after which to begin; nil begins with the next new event.
    func forward(since: LogPosition?, limit: Int, follows: Bool) async throws -> ExitCode {
        var left = limit
        var at: LogPosition
        if let since {
            at = since
        } else {
            at = try await newest()
        }
        var hasAnswered = false
        var connection = ConnectionWatch(verb: "events")
        while left > 0 {
            let page: EventPage
            do {
                page = try await ask([
                    ("since", "\(at)"), ("limit", "\(min(left, 1000))"),
                    ("since_at", since.map { "\($0)" }), ("until_at", until.map { "\($0)" }),
                    ("wait", follows ? "\(ReadEvents.maxWait)" : nil),
                ])
            } catch let failure as Failure where hasAnswered && follows && failure.mayPass {
                try await connection.lost(failure)
                continue
            } catch let failure as Failure where hasAnswered {
                throw Failure(failure.code, "\(failure); to continue later, use --since \(at)")
            }
            hasAnswered = true
            connection.succeeded()
            report(since: at, of: page)
            report(damaged: page)
            guard show(page, atMost: &left) else { return .done }
            let isStill = !page.nextPlace.isAhead(of: at) && page.lines.isEmpty
            let isAtEnd = isStill || !page.hasMore && !page.newestPlace.isAhead(of: page.nextPlace)
            at.raise(to: page.nextPlace)
            if !follows, isAtEnd { return .done }
        }
        return .done
    }

    /// Waits until there is an event after a place, at most as long as a request may, and returns the newest place.
    func newest(after place: LogPosition? = nil) async throws -> LogPosition {
        guard let place else { return try await ask([("last", "0")]).newestPlace }
        return try await ask([("since", "\(place)"), ("limit", "1"), ("wait", "\(ReadEvents.maxWait)")]).newestPlace
    }

    private func ask(_ query: [(name: String, value: String?)]) async throws -> EventPage {
        let answer = try await client.send(
            "GET", to: "/v1/events" + APIQuery.encoded(query + [("prefix", prefix)]))
        guard answer.status == 200 else { throw ControlClient.refusal(answer) }
        return try ControlClient.page(EventPage(lines: answer))
    }

    /// Reports the events that are not stored any more.
    private func report(since: LogPosition, of page: EventPage) {
        for (part, oldest) in page.oldestPlace.parts where oldest > since[part] && oldest - since[part] > 1 {
            let place = part == 0 ? "" : " of part \(part)"
            Terminal.error.write(
                "carillon events: events \(since[part] + 1) to \(oldest - 1)\(place) are no longer stored: removed by "
                    + "retention\n")
        }
    }

    private func report(damaged page: EventPage) {
        for first in page.damagedPlaces {
            Terminal.error.write(
                "carillon events: skipped a damaged segment of the event log, which begins with event \(first)\n"
            )
        }
    }

    /// Prints the events of a page, up to the limit. Returns false if the output was closed.
    private func show(_ page: EventPage, atMost left: inout Int) -> Bool {
        var text = ""
        for line in page.lines.prefix(left) {
            text += isJSON ? String(decoding: line, as: UTF8.self) : readable(line)
            text += "\n"
        }
        left -= min(left, page.lines.count)
        return text.isEmpty || Terminal.output.write(text)
    }

    func readable(_ line: [UInt8]) -> String {
        guard let event = EventRecord(line) else { return PlainText.line(String(decoding: line, as: UTF8.self)) }
        let terminal = Terminal.output
        let time = event.time.iso8601
        let number = event.part == 0 ? "\(event.seq)" : "\(event.part):\(event.seq)"
        let app = event.app.map { "\(PlainText.line($0, limit: 64)): " } ?? ""
        let sentence = terminal.hanging(
            app + description.sentence(event), indent: time.count + number.count + 4
        ) { line in description.color(event).map { terminal.colored(line, in: $0) } ?? line }
        return "\(terminal.colored(time, in: .dim))  \(number)  \(sentence)"
    }
}
