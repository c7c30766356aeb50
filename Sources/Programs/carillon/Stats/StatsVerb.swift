import PushAPI

/// `carillon stats`: shows the statistics of a running Carillon on one screen.
enum StatsVerb {
    static let verb = Verb(
        name: "stats", summary: "show rates, backlog, gateways, ledger and registry on one screen",
        options: [
            Option("watch", about: "update the screen until Ctrl-C"),
            Option(
                "interval", value: "TIME", about: "the time over which rates are measured, and between updates (1s)"),
            Option("node", value: "NAME", about: "a node of the cluster; all nodes together without it"),
        ] + ControlOptions.options
            + [Option("json", about: "print the counters as JSON at once; with --watch, one line per interval")],
        examples: [
            ("carillon stats", "measure for one second and show the rates"),
            ("carillon stats --watch --interval 5s", "update the screen every five seconds"),
            ("carillon stats --node b", "show one node of a cluster"),
            ("carillon stats --json | jq .backlog", "show the size of the backlog"),
        ]
    ) { arguments in
        let interval = try ScreenWatch.interval(arguments.text("interval"))
        let client = try ControlOptions.client(arguments)
        let path = "/v1/stats\(NodeOption.query(try NodeOption.node(arguments)))"
        let isJSON = arguments.has("json")
        if !arguments.has("watch") {
            let first = try await ask(client, at: path)
            if isJSON {
                ControlOptions.write(first)
                return .done
            }
            try await Task.sleep(for: interval)
            Terminal.output.write(StatsScreen(Terminal.output).text(try await ask(client, at: path), since: first))
            return .done
        }
        let screen = StatsScreen(Terminal.output)
        return try await ScreenWatch(verb: "stats", interval: interval, isJSON: isJSON).run {
            try await ask(client, at: path)
        } text: { now, last in
            screen.text(now, since: last)
        }
    }

    private static func ask(_ client: ControlClient, at path: String) async throws -> StatsAnswer {
        try await client.ask("GET", at: path)
    }
}
