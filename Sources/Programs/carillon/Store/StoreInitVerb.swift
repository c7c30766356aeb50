import PushStore
import PushWire

/// `carillon store init`: makes the tables of a store.
enum StoreInitVerb {
    static let verb = Verb(
        name: "store init", summary: "make the tables of a cluster in an empty database",
        words: [StoreVerb.url],
        options: [
            Option(
                "partitions", value: "N",
                about:
                    "the number of partitions, 1 to 256 (64). It is fixed for the life of the store, and at least the "
                    + "number of nodes")
        ] + StoreVerb.options,
        examples: [
            ("carillon store init postgres://carillon@db1,db2/carillon", "on the primary of two servers"),
            ("carillon store init --config /etc/carillon/carillon.json5", "in the database of a configuration"),
        ],
        notes: """
            All tables are made in one transaction, in a schema named carillon. A database
            that has one is refused, and so is a standby.

            """ + StoreVerb.notes
    ) { arguments in
        let partitions = try arguments.number("partitions", in: 1...StoreSetup.maxPartitions) ?? 64
        return try await StoreVerb.run(arguments) { command in
            let facts = try await StoreSetup(command.access).create(partitions: partitions)
            if arguments.has("json") {
                Terminal.output.write(StoreAnswer.text(facts, of: command))
            } else {
                Terminal.output.write(
                    """
                    Made a store with \(facts.partitions) partitions in \(command.name).
                    Start nodes with this database as store, and check it with 'carillon store check'.

                    """)
            }
            return .done
        }
    }
}

/// What all commands for a store print as JSON.
enum StoreAnswer {
    static func members(_ facts: StoreFacts, of command: StoreCommand) -> [String: JSONValue?] {
        [
            "store": .string(command.name), "schema_version": .integer(Int64(facts.version)),
            "partitions": .integer(Int64(facts.partitions)), "incarnation": .string(incarnation(facts)),
            "created_at": .integer(facts.created.milliseconds),
        ]
    }

    static func text(_ facts: StoreFacts, of command: StoreCommand, adding more: [String: JSONValue?] = [:]) -> String {
        var members = members(facts, of: command).merging(more) { $1 }
        members["ok"] = true
        members["exit_code"] = 0
        return MachineLine.text(members)
    }

    static func incarnation(_ facts: StoreFacts) -> String {
        facts.incarnation.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
