import PushAdmin
import PushLoop
import PushText

/// `carillon stats`: shows the statistics of a running Carillon on one screen.
enum StatsVerb {
    static let verb = Verb(
        name: "stats", summary: "show rates, backlog, gateways, ledger and registry on one screen",
        options: [
            Option("watch", about: "update the screen until Ctrl-C"),
            Option(
                "interval", value: "TIME", about: "the time over which rates are measured, and between updates (1s)"),
        ] + ControlOptions.options
            + [Option("json", about: "print the counters as JSON at once; with --watch, one line per interval")],
        examples: [
            ("carillon stats", "measure for one second and show the rates"),
            ("carillon stats --watch --interval 5s", "update the screen every five seconds"),
            ("carillon stats --json | jq .backlog", "show the size of the backlog"),
        ]
    ) { arguments in
        let interval = try interval(arguments.text("interval"))
        let client = try ControlOptions.client(arguments)
        let isJSON = arguments.has("json")
        if !arguments.has("watch") {
            let first = try await ask(client)
            if isJSON {
                ControlOptions.write(first)
                return .done
            }
            try await Task.sleep(for: interval)
            Terminal.output.write(StatsScreen(Terminal.output).text(try await ask(client), since: first))
            return .done
        }
        return try await Interruption.end {
            var last: StatsAnswer?
            let screen = StatsScreen(Terminal.output)
            var connection = ConnectionWatch(verb: "stats")
            while true {
                let now: StatsAnswer
                do {
                    now = try await ask(client)
                } catch let failure as Failure where last != nil && failure.mayPass {
                    try await connection.lost(failure)
                    continue
                }
                connection.succeeded()
                let text: String
                if isJSON {
                    text = String(decoding: AdminAnswer.json(now).body, as: UTF8.self)
                } else if Terminal.output.isInteractive {
                    // The lines overwrite the previous screen; clearing it first would flicker.
                    let lines = screen.text(now, since: last).replacing("\n", with: "\u{1b}[K\n")
                    text = (last == nil ? "\u{1b}[2J" : "") + "\u{1b}[H" + lines + "\u{1b}[J"
                } else {
                    text = screen.text(now, since: last) + "\n"
                }
                guard Terminal.output.write(text) else { return .done }
                last = now
                try await Task.sleep(for: interval)
            }
        }
    }

    private static func ask(_ client: ControlClient) async throws -> StatsAnswer {
        try await client.ask("GET", at: "/v1/stats")
    }

    private static func interval(_ text: String?) throws(Failure) -> Duration {
        guard let text else { return .seconds(1) }
        guard let time = DurationText.read(text), (.milliseconds(100) ... .seconds(3600)).contains(time) else {
            throw Failure(
                .usage,
                "'--interval' must be a time from 100ms to 1h, such as 5s, not '\(PlainText.line(text, limit: 60))'")
        }
        return time
    }
}
