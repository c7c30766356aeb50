import PushConfiguration
import PushServer
import PushStore
import PushText
import PushWire

/// `carillon restore`: copies a backup into a data directory on which no Carillon runs.
enum RestoreVerb {
    static let verb = Verb(
        name: "restore", summary: "copy a backup into a data directory",
        words: [Word("DIR", about: "the backup")],
        options: [
            Option("data", value: "DIR", about: "the data directory, on which no Carillon may run"),
            Option(
                "config", value: "FILE",
                about: "the configuration with the data directory (else CARILLON_CONFIG, or the usual places)"),
            Option("replace", about: "move the files of the data directory away, if it is not empty"),
            Option("cancel-waiting", about: "cancel the messages that waited at the time of the backup"),
            Option("pause", about: "pause the apps of these messages until 'carillon resume APP'"),
            Option("json", about: "print one JSON object"),
        ],
        examples: [
            ("carillon restore /backup/carillon-1 --data /var/lib/carillon", "into an empty directory"),
            (
                "carillon restore /backup/carillon-1 --replace --cancel-waiting",
                "over a damaged one; send nothing that waited then"
            ),
        ],
        notes: """
            After a restore:

            - Messages that waited at the time of the backup are sent at the next start.
              Those that had been sent since then arrive twice, with the same apns-id.
              With --cancel-waiting none is sent.
            - What was accepted after the backup is unknown: it is not sent again, and a
              producer that repeats it is not recognized.
            - Registrations and API keys since the backup are lost. Device ids are the same.
            - Events continue with a number above all that were ever used, and monitors
              notice the gap.

            Start the server afterwards. --replace removes nothing: the files that were
            there are in a directory beside the new ones.

            Exit codes: 0; 1 if the disk is full; 65 if DIR is not a whole backup, or the
            data directory is not empty; 75 if a Carillon runs on it; 77 if this user may
            not write it; 78 if the configuration is wrong.
            """
    ) { arguments in
        try await BackupAnswer.run(arguments) {
            let data = try Configuration.dataDirectory(flag: arguments.text("data"), file: arguments.text("config"))
            var settings = Restore.Settings(from: arguments.word("DIR"), into: data)
            settings.replaces = arguments.has("replace")
            guard !arguments.has("cancel-waiting") || !arguments.has("pause") else {
                throw Failure(.usage, "'--cancel-waiting' and '--pause' exclude each other")
            }
            if arguments.has("cancel-waiting") { settings.waiting = .cancel }
            if arguments.has("pause") { settings.waiting = .pause }
            let progress = ProgressLine(isShown: !arguments.has("json"))
            let summary = try await Restore(settings) { progress.show("restoring", file: $0, done: $1, of: $2) }.run()
            progress.clear()
            Terminal.output.write(
                arguments.has("json")
                    ? BackupAnswer.text(
                        summary.manifest, of: settings.backup, adding: members(of: summary, with: settings))
                    : text(of: summary, with: settings))
            return .done
        }
    }

    private static func members(
        of summary: Restore.Summary, with settings: Restore.Settings
    ) -> [String: JSONValue?] {
        [
            "data": .string(settings.target), "earlier": summary.earlier.map { .string($0) },
            "waiting": .integer(Int64(summary.ledger.waiting)),
            "scheduled": .integer(Int64(summary.ledger.scheduled)),
            "waiting_are": .string(fate(settings.waiting)), "paused": .texts(summary.ledger.paused.map(\.name)),
            "next_seq": .integer(Int64(clamping: summary.ledger.gap.upperBound) + 1),
        ]
    }

    private static func fate(_ waiting: RestoredLedger.Waiting) -> String {
        switch waiting {
        case .send: "sent"
        case .cancel: "cancelled"
        case .pause: "paused"
        }
    }

    private static func text(of summary: Restore.Summary, with settings: Restore.Settings) -> String {
        let ledger = summary.ledger
        let open = ledger.waiting + ledger.scheduled
        var lines = ["Restored \(settings.backup) to \(settings.target):", ""]
        lines[1] = String(BackupAnswer.rows(summary.manifest).dropLast())
        lines.append("The next event has the number \(ledger.gap.upperBound + 1). Monitors notice the gap.")
        if open > 0 {
            let what = "\(ledger.waiting) messages waited and \(ledger.scheduled) were scheduled at that time."
            switch settings.waiting {
            case .send:
                lines.append("\(what) The next start sends them.")
                lines.append("Those that were sent since then arrive twice. To prevent that, restore again with")
                lines.append("--replace --cancel-waiting, or with --pause to look at them first.")
            case .cancel: lines.append("\(what) None is sent.")
            case .pause:
                let names = ledger.paused.map(\.name).joined(separator: ", ")
                lines.append("\(what) \(names.isEmpty ? "Their apps were paused already." : "Paused now: \(names).")")
            }
        }
        if let earlier = summary.earlier {
            lines.append("The files that were there are in")
            lines.append("\(earlier)")
        }
        lines.append("What was accepted or registered after the backup is not known any more. Start the")
        lines.append("server now.")
        return lines.joined(separator: "\n") + "\n"
    }
}
