import PushStore

/// `carillon store check`: checks the servers and the tables of a store.
enum StoreCheckVerb {
    static let verb = Verb(
        name: "store check", summary: "check the servers and the tables of a cluster",
        words: [StoreVerb.url],
        options: [StoreVerb.durability] + StoreVerb.options,
        examples: [
            ("carillon store check", "check the database of the configuration"),
            (
                "carillon store check postgres://carillon@/carillon?host=/run/postgresql --durability single",
                "check a database without a standby"
            ),
            ("carillon store check --json | jq .nodes", "list the nodes, for a script"),
        ],
        notes: """
            Each host of the URL is examined as a node does at its start. Nothing is
            changed.

            Exit codes: 0 nodes can use the store; 1 there are faults; 64 the command line is
            wrong; 69 no server can be reached; 78 the configuration is wrong.

            """ + StoreVerb.notes
    ) { arguments in
        try await StoreVerb.run(arguments) { command in
            let report = StoreCheckReport(name: command.name, report: await StoreCheck(command.access).report())
            Terminal.output.write(arguments.has("json") ? report.json : report.text(on: Terminal.output))
            return report.code
        }
    }
}
