import PushLoop
import PushModel

/// `carillon trace`: the whole story of a message or a device, in order and in words.
enum TraceVerb {
    static let verb = Verb(
        name: "trace", summary: "tell the whole story of a message or a device",
        words: [Word("WHAT", "a message id, or a device id (32 hexadecimal digits)")],
        options: [
            Option("message", "WHAT is a message id, whatever it looks like"), Option("device", "WHAT is a device id"),
            Option("app", "APP", "of a message: only this app's"),
        ] + ControlOptions.options + [Option("json", "for machines: the events as they are, one JSON object a line")],
        examples: [
            ("carillon trace order-4711-shipped", "who got it, and why did the others not?"),
            ("carillon trace 4f1c9be2a07d55b3c2e8f6a91d304b7e", "what was sent to a device, and is it still there?"),
            ("carillon trace order-4711-shipped --json | jq .kind", "the events themselves"),
        ]
    ) { arguments in
        let what = arguments.word("WHAT")
        let isDevice = try isDevice(what, arguments)
        if isDevice, arguments.has("app") { throw Failure(.usage, "'--app' goes with a message") }
        let client = try ControlOptions.client(arguments)
        let query: [(name: String, value: String?)] =
            isDevice ? [("device", what.lowercased())] : [("message", what), ("app", arguments.text("app"))]
        let answer = try await client.send("GET", "/v1/trace" + ControlQuery.encoded(query))
        guard answer.status == 200 else { throw ControlClient.refusal(answer) }
        let page = try EventPage(answer.body)
        guard !page.lines.isEmpty else {
            throw Failure(
                .badInput,
                "nothing of the \(isDevice ? "device" : "message") \(PlainText.line(what, limit: 128)) is in the kept events"
                    + (page.isComplete ? "" : ", as far as they could be looked through")
                    + (isDevice
                        ? "; 'carillon devices show' says whether it is known"
                        : "; it was never handed in, or is older than they are"))
        }
        if arguments.has("json") {
            Terminal.output.write(page.lines.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined())
        } else {
            let events = page.lines.compactMap { EventRecord($0) }
            Terminal.output.write(
                TraceStory(Terminal.output, of: what, isDevice: isDevice).text(events, isComplete: page.isComplete))
        }
        return .done
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
    private let name: String
    private let isDevice: Bool

    init(_ terminal: Terminal, of name: String, isDevice: Bool) {
        self.terminal = terminal
        self.name = name
        self.isDevice = isDevice
    }

    func text(_ events: [EventRecord], isComplete: Bool) -> String {
        let apps = Set(events.compactMap(\.app)).sorted()
        let words = EventWords(isDevice ? .device : .message)
        let start = events.first?.time ?? 0
        let head =
            terminal.coloured("\(isDevice ? "Device" : "Message") \(PlainText.line(name, limit: 128))", .bold)
            + (apps.isEmpty ? "" : " of \(apps.map { PlainText.line($0, limit: 64) }.joined(separator: ", "))") + "\n"
        let elapsed = events.map { "+" + Self.elapsed($0.time - start) }
        let width = elapsed.map(\.count).max() ?? 0
        let lines = zip(events, elapsed).map { event, elapsed in
            let app = apps.count > 1 ? event.app.map { "\(PlainText.line($0, limit: 64)): " } ?? "" : ""
            let sentence = app + words.sentence(event)
            let painted = words.colour(event).map { terminal.coloured(sentence, $0) } ?? sentence
            return "  \(terminal.coloured(WallTime(milliseconds: event.time).iso8601, .dim))  "
                + "\(Terminal.padded(elapsed, to: width))  \(painted)\n"
        }
        return head + lines.joined() + end(events, isComplete) + advice(events)
    }

    private func end(_ events: [EventRecord], _ isComplete: Bool) -> String {
        if !isComplete { return "There is more of it, which is not shown.\n" }
        let accepted = events.count { $0.family == "message" && $0.kind == "accepted" }
        let completed = events.count { $0.family == "message" && $0.kind == "completed" }
        return !isDevice && accepted > completed
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
