import PushAPI

/// `carillon cluster`: shows the nodes of a cluster, the owners of its partitions, and the state of its database.
enum ClusterVerb {
    static let verb = Verb(
        name: "cluster", summary: "show the nodes of a cluster, its partitions and its database",
        options: [
            Option("watch", about: "update the screen until Ctrl-C"),
            Option("interval", value: "TIME", about: "the time between updates (1s)"),
        ] + ControlOptions.options
            + [Option("json", about: "print JSON; with --watch, one line per interval")],
        examples: [
            ("carillon cluster", "show the cluster as the node on this machine sees it"),
            ("carillon cluster --watch", "update the screen every second"),
            ("carillon cluster --json | jq .cluster.summary.unowned", "count the partitions that no node owns"),
        ]
    ) { arguments in
        let interval = try ScreenWatch.interval(arguments.text("interval"))
        let client = try ControlOptions.client(arguments)
        let screen = ClusterScreen(Terminal.output)
        let isJSON = arguments.has("json")
        if arguments.has("watch") {
            return try await ScreenWatch(verb: "cluster", interval: interval, isJSON: isJSON).run {
                try await ask(client)
            } text: { now, _ in
                screen.text(now)
            }
        }
        let answer = try await ask(client)
        if isJSON {
            ControlOptions.write(answer)
        } else {
            Terminal.output.write(screen.text(answer))
        }
        return .done
    }

    private static func ask(_ client: ControlClient) async throws -> ClusterAnswer {
        try await client.ask("GET", at: "/v1/cluster")
    }
}
