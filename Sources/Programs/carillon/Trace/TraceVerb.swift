import FoundationEssentials
import PushAPI
import PushLoop
import PushModel
import PushStore
import PushText

/// `carillon trace`: shows all events of a message, a device, a user or one delivery, in order and as sentences.
enum TraceVerb {
    static let verb = Verb(
        name: "trace", summary: "show all events of a message, a device, a user or one delivery",
        details: """
            Shows what happened to a message, to a device, to the current devices of a user, or to the delivery \
            with an apns-id: each event with its time, and what to do about reasons of the push service. An \
            argument of 32 hexadecimal digits is a device id, and any other a message id, unless --device or \
            --message says otherwise.

            If no Carillon runs, the files of the data directory are read and not changed.
            """,
        words: [
            Word(
                "WHAT", offers: .identifiers, about: "a message id, or a device id (32 hexadecimal digits)",
                isOptional: true)
        ],
        options: [
            Option("message", about: "read WHAT as a message id, even if it looks like a device id"),
            Option("device", about: "read WHAT as a device id"),
            Option("app", value: "APP", about: "only messages of this app, or of a family of apps"),
            Option("apns-id", value: "UUID", about: "instead of WHAT: the delivery with this apns-id"),
            Option("user", value: "NAME", about: "instead of WHAT: the current devices of this user"),
            Option("since", value: "TIME", about: "only events since this time: \(Moment.about)"),
            Option("until", value: "TIME", about: "only events until this time"),
            Option("all", about: "show each delivery, also if many in a row are alike"),
        ] + ControlOptions.options + [Option("json", about: "print each event as stored, one JSON object per line")],
        examples: [
            ("carillon trace order-4711-shipped", "show which devices got a message, and why others did not"),
            ("carillon trace 4f1c9be2a07d55b3c2e8f6a91d304b7e", "show what was sent to a device, and its state"),
            ("carillon trace --user ada --since 2h", "show what was sent to a user in the last two hours"),
            ("carillon trace --apns-id 6851d77c-dfe0-5021-a5a1-7e79436331fb", "find the message of a delivery"),
            ("carillon trace order-4711-shipped --json | jq .kind", "print the kinds of the events"),
        ]
    ) { arguments in
        let subject = try TraceTarget(arguments)
        let (since, until) = (try Moment.read("since", of: arguments), try Moment.read("until", of: arguments))
        return try await ControlOptions.reading(arguments, for: "trace") { client in
            let span: [(name: String, value: String?)] = [
                ("since", since.map { "\($0)" }), ("until", until.map { "\($0)" }),
            ]
            return try await show(subject, asking: span, from: client, with: arguments)
        }
    }

    /// Prints the events of a subject.
    ///
    /// - Parameter more: The parameters of the query that are not those of the subject.
    static func show(
        _ subject: TraceTarget, asking more: [(name: String, value: String?)], from client: ControlClient,
        with arguments: Arguments
    ) async throws -> ExitCode {
        let page = try await page(subject, asking: more, from: client)
        guard !page.lines.isEmpty else {
            throw Failure(
                .badInput,
                "the stored events do not mention \(subject.name)"
                    + (arguments.has("since") || arguments.has("until") ? " in that time" : "")
                    + (page.leavesOut.events ? "; not all events could be searched" : "")
                    + (page.leavesOut.devices ? "; \(subject.moreDevices)" : subject.hint))
        }
        if arguments.has("json") {
            Terminal.output.write(page.lines.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined())
            // Notes go to the standard error, because a program reads the lines.
            let verb = subject.kind == .activity ? "carillon activities show" : "carillon trace"
            if page.leavesOut.events {
                Terminal.error.write("\(verb): the output is incomplete; \(subject.moreEvents)\n")
            }
            if page.leavesOut.devices { Terminal.error.write("\(verb): \(subject.moreDevices)\n") }
        } else {
            let obstacle = await obstacle(of: subject, from: client)
            let story = TraceStory(
                Terminal.output, of: subject, obstacle: obstacle, foldsAlike: !arguments.has("all"))
            Terminal.output.write(story.text(page))
        }
        return .done
    }

    /// Returns the events of a subject that are stored now.
    static func page(
        _ subject: TraceTarget, asking more: [(name: String, value: String?)], from client: ControlClient
    ) async throws -> EventPage {
        let answer = try await client.send("GET", to: "/v1/trace" + APIQuery.encoded(subject.query + more))
        guard answer.status == 200 || answer.isUnknownMessage else { throw ControlClient.refusal(answer) }
        return answer.status == 200 ? try ControlClient.page(EventPage(trace: answer.body)) : EventPage()
    }

    /// Returns why a message has not gone out; nil if it has, or if there is no such message.
    private static func obstacle(of subject: TraceTarget, from client: ControlClient) async -> MessageObstacle? {
        guard subject.kind == .message else { return nil }
        let path = "/v1/messages/\(APIQuery.escaped(subject.text))"
        let query = APIQuery.encoded(subject.query.filter { $0.name == "app" })
        return try? await client.ask("GET", at: path + query, for: MessageSummary.self).obstacle
    }
}

extension APIAnswer {
    fileprivate var isUnknownMessage: Bool {
        status == 404 && (try? JSONDecoder().decode(Problem.self, from: Data(body)))?.code == .unknownMessage
    }
}

/// The subject of a trace, as given on the command line.
struct TraceTarget: Sendable {
    enum Kind: Sendable {
        case message, device, push, user, activity
    }

    let kind: Kind
    let text: String
    private let app: String?

    init(_ kind: Kind, text: String, app: String? = nil) {
        (self.kind, self.text, self.app) = (kind, text, app)
    }

    init(_ arguments: Arguments) throws(Failure) {
        let others = ["apns-id", "user"].filter { arguments.has($0) }
        let word = arguments.wordIfGiven("WHAT")
        guard others.count + (word == nil ? 0 : 1) == 1 else {
            throw Failure(
                .usage, "give exactly one of WHAT (a message id or a device id), --apns-id UUID and --user NAME")
        }
        if let other = others.first, let text = arguments.text(other) {
            if let option = ["message", "device", "app"].first(where: { arguments.has($0) }) {
                throw Failure(.usage, "'--\(option)' cannot be combined with '--\(other)'")
            }
            if other == "apns-id", DeliveryID(text) == nil { throw Failure(.usage, "'--apns-id' must be a UUID") }
            self.init(other == "user" ? .user : .push, text: text)
            return
        }
        let what = word ?? ""
        let isDevice = try Self.isDevice(what, with: arguments)
        if isDevice, arguments.has("app") { throw Failure(.usage, "'--app' needs a message, not a device") }
        self.init(isDevice ? .device : .message, text: isDevice ? what.lowercased() : what, app: arguments.text("app"))
    }

    var query: [(name: String, value: String?)] {
        switch kind {
        case .message: [("message", text), ("app", app)]
        case .device: [("device", text)]
        case .push: [("apns_id", text)]
        case .user: [("user", text)]
        case .activity: [("activity", text), ("app", app)]
        }
    }

    /// The name of the subject within a sentence.
    var name: String {
        let shown = PlainText.line(text, limit: 128)
        return switch kind {
        case .message: "the message \(shown)"
        case .device: "the device \(shown)"
        case .push: "the apns-id \(shown)"
        case .user: "the devices of the user \(shown)"
        case .activity: "the Live Activity \(shown) of \(PlainText.line(app ?? "", limit: 64))"
        }
    }

    /// The note for a user with more devices, or an activity with more addresses, than a trace includes.
    var moreDevices: String {
        let limit = TraceSearch.maxDevices
        let (fact, option) =
            kind == .activity
            ? ("the activity has more than \(limit) addresses", "--activity")
            : ("the user has more than \(limit) devices", "--user")
        return "\(fact), and only the first \(limit) are included; 'carillon devices list \(option)' lists all, and "
            + "'carillon trace' with a device id shows one of them"
    }

    /// The note for a trace that lacks events: how to see them.
    var moreEvents: String {
        kind == .activity
            ? "the newest \(TraceSearch.maxWalked) events are searched for at most \(TraceSearch.maxMessages) "
                + "messages, and 'carillon trace' shows each message by its id"
            : "select a part with --since and --until"
    }

    /// The likely cause when nothing is found.
    var hint: String {
        switch kind {
        case .message: "; it was never submitted, or its events were removed by retention"
        case .device: "; 'carillon devices show' shows whether the device is registered"
        case .push: "; it was never sent, or its events were removed by retention"
        case .user: "; 'carillon devices list --user' lists these devices"
        case .activity: "; 'carillon devices list --activity' lists its addresses"
        }
    }

    /// The first line of the output.
    var title: String {
        let shown = PlainText.line(text, limit: 128)
        return switch kind {
        case .message: "Message \(shown)"
        case .device: "Device \(shown)"
        case .push: "Delivery \(shown)"
        case .user: "Devices of \(shown)"
        case .activity: "Live Activity \(shown)"
        }
    }

    private static func isDevice(_ what: String, with arguments: Arguments) throws(Failure) -> Bool {
        let looksLikeOne = DeviceID(what.lowercased()) != nil
        switch (arguments.has("message"), arguments.has("device")) {
        case (true, true): throw Failure(.usage, "'--message' cannot be combined with '--device'")
        case (true, false): return false
        case (false, true):
            guard looksLikeOne else { throw Failure(.usage, "WHAT is not a device id: 32 hexadecimal digits") }
            return true
        case (false, false): return looksLikeOne
        }
    }
}

/// Formats the events of a trace for people.
struct TraceStory {
    private let terminal: Terminal
    private let target: TraceTarget
    private let obstacle: MessageObstacle?
    private let foldsAlike: Bool
    /// The maximum number of deliveries without a summary at the top.
    private static let maxWithoutSummary = 16

    init(
        _ terminal: Terminal, of target: TraceTarget, obstacle: MessageObstacle? = nil, foldsAlike: Bool = true
    ) {
        self.foldsAlike = foldsAlike
        self.terminal = terminal
        self.target = target
        self.obstacle = obstacle
    }

    func text(_ page: EventPage) -> String {
        let events = page.lines.compactMap { EventRecord($0) }
        let apps = Set(events.compactMap(\.app)).sorted()
        let description = EventDescription(
            target.kind == .device ? .device : target.kind == .message ? .message : .none)
        let head =
            terminal.colored(target.title, in: .bold)
            + (apps.isEmpty ? "" : " of \(apps.map { PlainText.line($0, limit: 64) }.joined(separator: ", "))") + "\n"
        let runs = foldsAlike ? AlikeEvents.runs(of: events) : events.map { AlikeEvents($0) }
        let elapsed = runs.map { "+" + Self.elapsed(Self.time(of: $0.first, in: events)) }
        let width = elapsed.map(\.count).max() ?? 0
        let lines = zip(runs, elapsed).map { run, elapsed in
            let event = run.first
            let app = apps.count > 1 ? event.app.map { "\(PlainText.line($0, limit: 64)): " } ?? "" : ""
            let until = run.count > 1 ? ", until +\(Self.elapsed(Self.time(of: run.last, in: events)))" : ""
            let sentence = app + (run.sentence ?? description.sentence(event)) + until
            let time = event.time.iso8601
            let painted = terminal.hanging(sentence, indent: time.count + width + 6) { line in
                description.color(event).map { terminal.colored(line, in: $0) } ?? line
            }
            return "  \(terminal.colored(time, in: .dim))  \(Terminal.padded(elapsed, to: width))  \(painted)\n"
        }
        return head + summary(events, of: page) + lines.joined() + end(events, of: page) + advice(events)
    }

    /// The milliseconds since the first event.
    private static func time(of event: EventRecord, in events: [EventRecord]) -> Int64 {
        events.first.map { event.time.milliseconds(since: $0.time) } ?? 0
    }

    /// Returns a summary of the audience and the outcomes of a message to many devices.
    private func summary(_ events: [EventRecord], of page: EventPage) -> String {
        let deliveries = events.filter { $0.family == "delivery" }
        guard target.kind == .message, deliveries.count > Self.maxWithoutSummary else { return "" }
        var rows: [(name: String, text: String)] = []
        let accepted = events.filter { $0.family == "message" && $0.kind == "accepted" }
        let audiences = accepted.map { RequestDescription($0.request).audience(devices: $0.number("devices")) }
        if !audiences.isEmpty { rows.append(("for", audiences.joined(separator: "; "))) }
        if let options = accepted.last.flatMap({ RequestDescription($0.request).options }) {
            rows.append(("options", options))
        }
        var counts: [(name: String, number: Int64)] = []
        var reasons: [String: Int64] = [:]
        for event in deliveries {
            if let index = counts.firstIndex(where: { $0.name == event.kind }) {
                counts[index].number += 1
            } else {
                counts.append((event.kind, 1))
            }
            if event.kind != "sent", event.kind != "retry", let reason = event.reason {
                reasons[reason, default: 0] += 1
            }
        }
        let completed = events.last { $0.family == "message" && $0.kind == "completed" }?.numbers("counts")
        rows.append(
            (
                completed == nil ? "so far" : "outcome",
                EventDescription.counts(completed ?? counts) + (page.leavesOut.events ? ", …" : "")
            ))
        let list = reasons.sorted { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }.prefix(5)
        if !list.isEmpty {
            rows.append(
                ("because", list.map { "\($0.value) \(PlainText.line($0.key, limit: 60))" }.joined(separator: ", ")))
        }
        if let first = events.first, let last = events.last {
            rows.append(("within", Self.elapsed(last.time.milliseconds(since: first.time))))
        }
        return PlainText.rows(rows, on: terminal) + "\n"
    }

    private func end(_ events: [EventRecord], of page: EventPage) -> String {
        let more = [
            page.leavesOut.events ? "The output is incomplete; \(target.moreEvents)." : nil,
            page.leavesOut.devices ? "Note: \(target.moreDevices)." : nil,
        ].compactMap { $0 }
        if !more.isEmpty { return more.map { $0 + "\n" }.joined() }
        let accepted = events.count { $0.family == "message" && $0.kind == "accepted" }
        let completed = events.count { $0.family == "message" && $0.kind == "completed" }
        guard target.kind == .message, accepted > completed || obstacle != nil else { return "" }
        let text =
            (accepted > completed ? "The message is not completed yet" : "Nothing was sent")
            + (obstacle.map { ": \($0.sentence(at: .current()))" } ?? "") + "."
        return terminal.hanging(text, indent: 0) { terminal.colored($0, in: .yellow) } + "\n"
    }

    /// Returns the advice for each reason of the push service that occurs in the events. A deferral of a message that is
    /// completed needs none.
    private func advice(_ events: [EventRecord]) -> String {
        var seen: [String] = []
        let isCompleted =
            target.kind == .message && events.contains { $0.family == "message" && $0.kind == "completed" }
        let kinds = isCompleted ? ["rejected"] : ["rejected", "retry"]
        for event in events where event.family == "delivery" && kinds.contains(event.kind) {
            if let reason = event.reason, ReasonDescription.advice(reason: reason) != nil, !seen.contains(reason) {
                seen.append(reason)
            }
        }
        guard !seen.isEmpty else { return "" }
        return "\nWhat to do:\n"
            + seen.map { "  \(PlainText.line($0, limit: 60)): \(ReasonDescription.advice(reason: $0) ?? "")\n" }
            .joined()
    }

    /// Formats an elapsed time: `38ms`, `1.2s`, `4m 10s`.
    static func elapsed(_ milliseconds: Int64) -> String {
        let time = max(0, milliseconds)
        if time < 1000 { return "\(time)ms" }
        if time < 60_000 { return "\(time / 1000).\(time % 1000 / 100)s" }
        return DurationText.age(time / 1000)
    }
}

extension MessageObstacle {
    /// The reason with its times, without a period.
    func sentence(at now: WallTime) -> String {
        var text = PlainText.line(detail, limit: 1000)
        if let since { text += ", for \(TraceStory.elapsed(now.milliseconds(since: since)))" }
        guard let nextAttemptAt else { return text }
        let wait = nextAttemptAt.milliseconds(since: now)
        return text + "; next attempt "
            + (wait > 0 ? "in \(TraceStory.elapsed(wait))" : "now")
            + (wait > 60_000 ? ", at \(nextAttemptAt.iso8601)" : "")
    }
}
