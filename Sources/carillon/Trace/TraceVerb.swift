import PushLoop
import PushModel

/// `carillon trace`: the whole story of a message or a device, in order and in words.
enum TraceVerb {
    static let verb = Verb(
        name: "trace", summary: "tell the whole story of a message, a device, a user or one push",
        words: [Word("WHAT", "a message id, or a device id (32 hexadecimal digits)", mayBeLeftOut: true)],
        options: [
            Option("message", "WHAT is a message id, whatever it looks like"), Option("device", "WHAT is a device id"),
            Option("app", "APP", "of a message: only this app's"),
            Option("apns-id", "UUID", "instead of WHAT: the one delivery that the push service knows by it"),
            Option("user", "NAME", "instead of WHAT: the devices that are a user's now"),
            Option("since", "TIME", "only what happened since then: \(Moment.about)"),
            Option("until", "TIME", "only what happened until then"),
        ] + ControlOptions.options + [Option("json", "for machines: the events as they are, one JSON object a line")],
        examples: [
            ("carillon trace order-4711-shipped", "who got it, and why did the others not?"),
            ("carillon trace 4f1c9be2a07d55b3c2e8f6a91d304b7e", "what was sent to a device, and is it still there?"),
            ("carillon trace --user ada --since 2h", "what went to a user's devices in the last two hours?"),
            ("carillon trace --apns-id 6851d77c-dfe0-5021-a5a1-7e79436331fb", "which message was that?"),
            ("carillon trace order-4711-shipped --json | jq .kind", "the events themselves"),
        ]
    ) { arguments in
        let subject = try TraceTarget(arguments)
        let (since, until) = (try Moment.read("since", of: arguments), try Moment.read("until", of: arguments))
        let client = try ControlOptions.client(arguments)
        let answer = try await client.send(
            "GET",
            "/v1/trace"
                + ControlQuery.encoded(
                    subject.query + [("since", since.map { "\($0)" }), ("until", until.map { "\($0)" })]))
        guard answer.status == 200 else { throw ControlClient.refusal(answer) }
        let page = try EventPage(answer.body)
        guard !page.lines.isEmpty else {
            throw Failure(
                .badInput,
                "nothing of \(subject.name) is in the kept events"
                    + (since == nil && until == nil ? "" : " of that time")
                    + (page.leavesOut.events ? ", as far as they could be looked through" : "")
                    + (page.leavesOut.devices ? "; \(TraceTarget.moreDevices)" : subject.hint))
        }
        if arguments.has("json") {
            Terminal.output.write(page.lines.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined())
            // Not among the lines, which a program reads.
            if page.leavesOut.events {
                Terminal.error.write(
                    "carillon trace: there is more of it, which is not shown; ask for a part with --since and --until\n"
                )
            }
            if page.leavesOut.devices { Terminal.error.write("carillon trace: \(TraceTarget.moreDevices)\n") }
        } else {
            Terminal.output.write(TraceStory(Terminal.output, of: subject).text(page))
        }
        return .done
    }
}

/// The subject of a trace, as it was given on the command line.
struct TraceTarget: Sendable {
    enum Kind: Sendable {
        case message, device, push, user
    }

    let kind: Kind
    let text: String
    private let app: String?

    init(_ kind: Kind, _ text: String, app: String? = nil) {
        (self.kind, self.text, self.app) = (kind, text, app)
    }

    init(_ arguments: Arguments) throws(Failure) {
        let others = ["apns-id", "user"].filter { arguments.has($0) }
        let word = arguments.wordIfGiven("WHAT")
        guard others.count + (word == nil ? 0 : 1) == 1 else {
            throw Failure(
                .usage, "it wants WHAT (a message id or a device id), --apns-id UUID or --user NAME: one of them")
        }
        if let other = others.first, let text = arguments.text(other) {
            if let option = ["message", "device", "app"].first(where: { arguments.has($0) }) {
                throw Failure(.usage, "'--\(option)' goes without '--\(other)'")
            }
            if other == "apns-id", APNSID(text) == nil { throw Failure(.usage, "'--apns-id' wants a UUID") }
            self.init(other == "user" ? .user : .push, text)
            return
        }
        let what = word ?? ""
        let isDevice = try Self.isDevice(what, arguments)
        if isDevice, arguments.has("app") { throw Failure(.usage, "'--app' goes with a message") }
        self.init(isDevice ? .device : .message, isDevice ? what.lowercased() : what, app: arguments.text("app"))
    }

    var query: [(name: String, value: String?)] {
        switch kind {
        case .message: [("message", text), ("app", app)]
        case .device: [("device", text)]
        case .push: [("apns_id", text)]
        case .user: [("user", text)]
        }
    }

    /// After "nothing of".
    var name: String {
        let shown = PlainText.line(text, limit: 128)
        return switch kind {
        case .message: "the message \(shown)"
        case .device: "the device \(shown)"
        case .push: "the apns-id \(shown)"
        case .user: "the devices of the user \(shown)"
        }
    }

    /// The advice where a user has more devices than are looked at.
    static let moreDevices =
        "the user has more than \(TraceSearch.mostDevices) devices, of which the first \(TraceSearch.mostDevices) were looked "
        + "at; 'carillon devices list --user' shows all, and 'carillon trace' with a device's id tells of that one"

    /// The likely cause when nothing is found.
    var hint: String {
        switch kind {
        case .message: "; it was never handed in, or is older than they are"
        case .device: "; 'carillon devices show' says whether it is known"
        case .push: "; it was never sent, or is older than they are"
        case .user: "; 'carillon devices list --user' says which those are"
        }
    }

    /// At the head of a story.
    var title: String {
        let shown = PlainText.line(text, limit: 128)
        return switch kind {
        case .message: "Message \(shown)"
        case .device: "Device \(shown)"
        case .push: "Push \(shown)"
        case .user: "Devices of \(shown)"
        }
    }

    private static func isDevice(_ what: String, _ arguments: Arguments) throws(Failure) -> Bool {
        let looksLikeOne = DeviceID(what.lowercased()) != nil
        switch (arguments.has("message"), arguments.has("device")) {
        case (true, true): throw Failure(.usage, "'--message' and '--device' exclude each other")
        case (true, false): return false
        case (false, true):
            guard looksLikeOne else { throw Failure(.usage, "that is no device id: 32 hexadecimal digits") }
            return true
        case (false, false): return looksLikeOne
        }
    }
}

/// Events as a story.
struct TraceStory {
    private let terminal: Terminal
    private let target: TraceTarget
    /// A message for more devices than these begins with a summary.
    private static let mostWithoutSummary = 16

    init(_ terminal: Terminal, of target: TraceTarget) {
        self.terminal = terminal
        self.target = target
    }

    func text(_ page: EventPage) -> String {
        let events = page.lines.compactMap { EventRecord($0) }
        let apps = Set(events.compactMap(\.app)).sorted()
        let words = EventWords(target.kind == .device ? .device : target.kind == .message ? .message : .none)
        let start = events.first?.time ?? 0
        let head =
            terminal.coloured(target.title, .bold)
            + (apps.isEmpty ? "" : " of \(apps.map { PlainText.line($0, limit: 64) }.joined(separator: ", "))") + "\n"
        let elapsed = events.map { "+" + Self.elapsed($0.time - start) }
        let width = elapsed.map(\.count).max() ?? 0
        let lines = zip(events, elapsed).map { event, elapsed in
            let app = apps.count > 1 ? event.app.map { "\(PlainText.line($0, limit: 64)): " } ?? "" : ""
            let sentence = app + words.sentence(event)
            let time = WallTime(milliseconds: event.time).iso8601
            let painted = terminal.hanging(sentence, indent: time.count + width + 6) { line in
                words.colour(event).map { terminal.coloured(line, $0) } ?? line
            }
            return "  \(terminal.coloured(time, .dim))  \(Terminal.padded(elapsed, to: width))  \(painted)\n"
        }
        return head + summary(events, page) + lines.joined() + end(events, page) + advice(events)
    }

    /// The audience and the outcomes of a message for many devices.
    private func summary(_ events: [EventRecord], _ page: EventPage) -> String {
        let deliveries = events.filter { $0.family == "delivery" }
        guard target.kind == .message, deliveries.count > Self.mostWithoutSummary else { return "" }
        var rows: [(name: String, text: String)] = []
        let accepted = events.filter { $0.family == "message" && $0.kind == "accepted" }
        let audiences = accepted.map { RequestWords($0.request).audience(devices: $0.number("devices")) }
        if !audiences.isEmpty { rows.append(("for", audiences.joined(separator: "; "))) }
        if let options = accepted.last.flatMap({ RequestWords($0.request).options }) {
            rows.append(("options", options))
        }
        var counts: [(name: String, number: Int64)] = []
        var reasons: [String: Int64] = [:]
        for event in deliveries {
            if let place = counts.firstIndex(where: { $0.name == event.kind }) {
                counts[place].number += 1
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
                EventWords.counts(completed ?? counts) + (page.leavesOut.events ? ", …" : "")
            ))
        let list = reasons.sorted { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }.prefix(5)
        if !list.isEmpty {
            rows.append(
                ("because", list.map { "\($0.value) \(PlainText.line($0.key, limit: 60))" }.joined(separator: ", ")))
        }
        if let first = events.first, let last = events.last {
            rows.append(("within", Self.elapsed(last.time - first.time)))
        }
        return PlainText.rows(rows, on: terminal) + "\n"
    }

    private func end(_ events: [EventRecord], _ page: EventPage) -> String {
        let more = [
            page.leavesOut.events ? "There is more of it, which is not shown; --since and --until show a part." : nil,
            page.leavesOut.devices ? "Note: \(TraceTarget.moreDevices)." : nil,
        ].compactMap { $0 }
        if !more.isEmpty { return more.map { $0 + "\n" }.joined() }
        let accepted = events.count { $0.family == "message" && $0.kind == "accepted" }
        let completed = events.count { $0.family == "message" && $0.kind == "completed" }
        return target.kind == .message && accepted > completed
            ? terminal.coloured("It is not completed yet.", .yellow) + "\n" : ""
    }

    /// For each reason that came up, what its table says.
    private func advice(_ events: [EventRecord]) -> String {
        var seen: [String] = []
        for event in events where event.family == "delivery" && ["rejected", "retry"].contains(event.kind) {
            if let reason = event.reason, ReasonWords.advice(reason: reason) != nil, !seen.contains(reason) {
                seen.append(reason)
            }
        }
        guard !seen.isEmpty else { return "" }
        return "\nWhat to do:\n"
            + seen.map { "  \(PlainText.line($0, limit: 60)): \(ReasonWords.advice(reason: $0) ?? "")\n" }.joined()
    }

    /// `38ms`, `1.2s`, `4m 10s`.
    static func elapsed(_ milliseconds: Int64) -> String {
        let time = max(0, milliseconds)
        if time < 1000 { return "\(time)ms" }
        if time < 60_000 { return "\(time / 1000).\(time % 1000 / 100)s" }
        return GatewayTable.age(time / 1000)
    }
}
