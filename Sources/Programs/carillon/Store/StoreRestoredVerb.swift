import Glibc
import PushStore
import PushWire

/// `carillon store restored`: declares that the database was restored from a backup.
enum StoreRestoredVerb {
    static let verb = Verb(
        name: "store restored", summary: "declare that the database was restored from a backup",
        words: [StoreVerb.url],
        options: [Option("yes", about: "do not ask; required if the input is not a terminal")] + StoreVerb.options,
        examples: [
            (
                "carillon store restored --yes --config /etc/carillon/carillon.json5",
                "after the restore, and before nodes are started"
            )
        ],
        notes: """
            The database gets a new incarnation. Nodes that are connected to it, or that
            connect to it after they were connected to the lost one, stop: what they have
            in memory does not fit its tables. Start them again.

            What was acknowledged after the backup is lost. Messages that were waiting at
            the time of the backup are sent again. The numbers of events begin again at
            that time, so that monitors must read from the start.

            """ + StoreVerb.notes
    ) { arguments in
        try await StoreVerb.run(arguments) { command in
            let setup = StoreSetup(command.access)
            let nodes = try await setup.liveNodes()
            if !arguments.has("yes") { try confirm(nodes, in: command) }
            let facts = try await setup.declareRestored()
            if arguments.has("json") {
                Terminal.output.write(StoreAnswer.text(facts, of: command, adding: ["nodes": .texts(nodes)]))
            } else {
                Terminal.output.write(
                    "The store in \(command.name) has the incarnation \(StoreAnswer.incarnation(facts)) now.\n"
                        + (nodes.isEmpty
                            ? "No node has a valid lease; start the nodes.\n"
                            : "These nodes stop within a third of their lease; start them again: "
                                + "\(nodes.joined(separator: ", "))\n"))
            }
            return .done
        }
    }

    /// Asks whether nodes may be stopped.
    private static func confirm(_ nodes: [String], in command: StoreCommand) throws(Failure) {
        let question =
            "All nodes of \(command.name) stop"
            + (nodes.isEmpty ? " (none has a valid lease now)." : ": \(nodes.joined(separator: ", ")).")
        guard isatty(0) == 1, Terminal.error.isInteractive else {
            throw Failure(
                .usage,
                "\(question) Nothing was changed; add --yes if the database was restored from a backup")
        }
        Terminal.error.write("\(question)\nWas the database restored from a backup? Type yes: ")
        guard readLine() == "yes" else { throw Failure(.failed, "nothing was changed") }
    }
}
