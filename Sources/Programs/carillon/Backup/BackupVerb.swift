import PushConfiguration
import PushLoop
import PushServer
import PushText
import PushTime
import PushWire

/// `carillon backup`: copies the data directory at one moment, while Carillon runs.
enum BackupVerb {
    static let verb = Verb(
        name: "backup", summary: "copy the data directory at one moment, while Carillon runs",
        words: [Word("DIR", about: "the directory of the backup, which must not exist; with --check, one that does")],
        options: [
            Option("data", value: "DIR", about: "the data directory"),
            Option(
                "config", value: "FILE",
                about: "the configuration with the data directory (else CARILLON_CONFIG, or the usual places)"),
            Option("rate", value: "SIZE", about: "copy at most SIZE in a second (default 64MiB)"),
            Option("check", about: "compare the backup with its manifest and examine its databases instead"),
            Option("json", about: "print one JSON object"),
        ],
        examples: [
            ("carillon backup /backup/carillon-1 --data /var/lib/carillon", "as the user of the server"),
            ("carillon backup --check /backup/carillon-1", "can it be restored?"),
        ],
        notes: """
            The backup has the ledger and the registry as of one moment, the key that
            encrypts API keys, and feedback that was being taken. It does not have the
            configuration and the files that it names: copy these, too. A backup can push
            to all devices and verify all API keys; protect it like the data directory.

            Exit codes: 0; 1 if the disk is full or a database is damaged; 65 if DIR
            exists, or fails the check; 75 if another backup writes to DIR; 77 if this user
            may not read or write it; 78 for a cluster, whose database has tools of its own.
            """
    ) { arguments in
        try await BackupAnswer.run(arguments) {
            let directory = arguments.word("DIR")
            let start = MonotonicTime.current()
            let progress = ProgressLine(isShown: !arguments.has("json"))
            if arguments.has("check") {
                let manifest = try BackupCheck.run(directory) { progress.show("checking", file: $0, done: $1, of: $2) }
                progress.clear()
                Terminal.output.write(
                    arguments.has("json")
                        ? BackupAnswer.text(manifest, of: directory)
                        : "\(directory) is a whole backup:\n\(BackupAnswer.rows(manifest))")
                return .done
            }
            var settings = Backup.Settings(of: try source(arguments), to: directory)
            if let rate = try rate(arguments) { settings.bytesPerSecond = rate }
            let manifest = try Backup(settings) { progress.show("copying", file: $0, done: $1, of: $2) }.run()
            progress.clear()
            let took = MonotonicTime.current() - start
            Terminal.output.write(
                arguments.has("json")
                    ? BackupAnswer.text(manifest, of: directory, adding: ["took_ms": .integer(took.wholeMilliseconds)])
                    : "Copied \(settings.source) to \(directory) in \(PlainText.milliseconds(took)):\n"
                        + BackupAnswer.rows(manifest)
                        + "The configuration and the files that it names are not part of it.\n")
            return .done
        }
    }

    /// Returns the data directory, or refuses the configuration of a cluster.
    private static func source(_ arguments: Arguments) throws -> String {
        if let data = arguments.text("data") { return data }
        if let store = try? ConfiguredStore.read(file: arguments.text("config")) {
            throw Failure(
                .configuration,
                "the nodes of this cluster keep their data in the database \(store.options), so that there is nothing to "
                    + "copy in the data directory: back up the database with its own tools (pg_basebackup or pg_dump), and "
                    + "copy the configuration and the files that it names; after a restore of the database, run 'carillon "
                    + "store restored'")
        }
        return try Configuration.dataDirectory(flag: nil, file: arguments.text("config"))
    }

    private static func rate(_ arguments: Arguments) throws -> Int? {
        guard let text = arguments.text("rate") else { return nil }
        guard let size = ByteCount(text: text), size.bytes >= 1 << 16 else {
            throw Failure(.usage, "'--rate' must be a size of at least 64KiB, such as 64MiB, not '\(text)'")
        }
        return Int(clamping: size.bytes)
    }
}
