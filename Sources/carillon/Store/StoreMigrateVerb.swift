import PushStore

/// `carillon store migrate`: brings the tables to the version of this program.
enum StoreMigrateVerb {
    static let verb = Verb(
        name: "store migrate", summary: "bring the tables to the version of this program",
        words: [StoreVerb.url], options: StoreVerb.options,
        examples: [("carillon store migrate --config /etc/carillon/carillon.json5", "after an upgrade of Carillon")],
        notes: """
            There is only version 1 of the tables yet, so that nothing is changed. Tables of
            a newer version are refused.

            """ + StoreVerb.notes
    ) { arguments in
        try await StoreVerb.run(arguments) { command in
            let (facts, earlier) = try await StoreSetup(command.access).migrate()
            Terminal.output.write(
                arguments.has("json")
                    ? StoreAnswer.text(
                        facts, of: command, adding: ["earlier_schema_version": .integer(Int64(earlier))])
                    : "The tables in \(command.name) have version \(facts.version), which is that of this program; there "
                        + "is nothing to do.\n")
            return .done
        }
    }
}
