import PushStore

/// `carillon store migrate`: brings the tables to the version of this program.
enum StoreMigrateVerb {
    static let verb = Verb(
        name: "store migrate", summary: "bring the tables to the version of this program",
        words: [StoreVerb.url], options: StoreVerb.options,
        examples: [("carillon store migrate --config /etc/carillon/carillon.json5", "after an upgrade of Carillon")],
        notes: """
            Stop all nodes first. All changes are made in one transaction; if there is nothing
            to change, nothing is. Tables of a newer version are refused.

            """ + StoreVerb.notes
    ) { arguments in
        try await StoreVerb.run(arguments) { command in
            let (facts, earlier) = try await StoreSetup(command.access).migrate()
            Terminal.output.write(
                arguments.has("json")
                    ? StoreAnswer.text(
                        facts, of: command, adding: ["earlier_schema_version": .integer(Int64(earlier))])
                    : earlier == facts.version
                        ? "The tables in \(command.name) have version \(facts.version), which is that of this program; "
                            + "there is nothing to do.\n"
                        : "The tables in \(command.name) were brought from version \(earlier) to \(facts.version).\n")
            return .done
        }
    }
}
