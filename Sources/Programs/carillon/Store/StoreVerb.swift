import PushWire

/// `carillon store`: creates and checks the database that the nodes of a cluster share.
enum StoreVerb {
    static let verb = Verb(
        name: "store", summary: "create and check the database of a cluster",
        verbs: [
            StoreInitVerb.verb, StoreCheckVerb.verb, StoreMigrateVerb.verb, StoreImportVerb.verb,
            StoreRestoredVerb.verb,
        ])

    static let url = Word(
        "URL",
        about: "the database, as postgres://USER@HOST1,HOST2/DATABASE; that of the configuration if left out",
        isOptional: true)

    static let options = [
        Option(
            "config", value: "FILE",
            about:
                "the configuration with the database, and with cluster.durability (else CARILLON_CONFIG, or the usual "
                + "places)"),
        Option("json", about: "print one JSON object"),
    ]

    static let durability = Option(
        "durability", value: "P", offers: .words(["replicated", "single"]),
        about: "replicated or single: whether nodes require a synchronous standby (that of the configuration, else "
            + "replicated)")

    static let notes = """
        Other users of this machine can see a password in the URL of a command line,
        such as with ps. Put the URL into the variable CARILLON_STORE or into the
        configuration, or use sslcert and sslkey.
        """

    /// Runs a command, and prints its error as JSON if the user has asked for that.
    static func run(
        _ arguments: Arguments, body: (StoreCommand) async throws -> ExitCode
    ) async throws -> ExitCode {
        do {
            return try await StoreCommand.run(arguments, body: body)
        } catch {
            let failure = StoreCommand.failure(error)
            guard arguments.has("json"), failure.code != .usage else { throw failure }
            let members: [String: JSONValue?] = [
                "ok": false, "exit_code": .integer(Int64(failure.code.rawValue)),
                "faults": .texts(failure.description.split(separator: "\n").map { HiddenPassword.line(String($0)) }),
            ]
            Terminal.output.write(MachineLine.text(members))
            return failure.code
        }
    }
}
