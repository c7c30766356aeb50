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

            """ + StoreVerb.notes,
        exits: [
            (.done, "nodes can use the store"), (.failed, "there are faults"), (.usage, "the command line is wrong"),
            (.unavailable, "no server can be reached"), (.configuration, "the configuration is wrong"),
        ]
    ) { arguments in
        try await StoreVerb.run(arguments) { command in
            let report = StoreCheckReport(name: command.name, report: await StoreCheck(command.access).report())
            Terminal.output.write(arguments.has("json") ? report.json : report.text(on: Terminal.output))
            return report.code
        }
    }
}
