import FoundationEssentials
import Glibc
import PushConfiguration
import PushLoop
import PushServer
import PushText

/// `carillon serve`: runs the gateway between producers and push services.
enum ServeVerb {
    static let verb = Verb(
        name: "serve", summary: "accept notifications, deliver them, and publish the outcomes",
        details: """
            Runs the gateway in the foreground. Producers submit messages over ZeroMQ or HTTP; each is stored in \
            the data directory before it is acknowledged, sent to the push service once for every device, and its \
            outcome is published as an event.

            At its start, it examines the configuration, the files that it names, and the addresses to bind, and \
            prints the endpoints and apps. SIGHUP, or 'carillon reload', reads the configuration again. SIGTERM \
            stops accepting messages, waits for deliveries in flight, and ends; a second SIGTERM ends at once. \
            What was accepted and not sent is sent after the next start.
            """,
        options: [
            Option("config", value: "FILE", about: "the configuration (else CARILLON_CONFIG, or the usual places)"),
            Option("data", value: "DIR", about: "the data directory, instead of the configuration's"),
            Option("drain", value: "TIME", about: "how long to wait for deliveries in flight after SIGTERM (30s)"),
            Option("json", about: "print the endpoints and apps as one line of JSON"),
        ],
        examples: [
            ("carillon serve --config carillon.json5", "run until SIGTERM; a second SIGTERM stops at once"),
            ("carillon serve --json --drain 5s", "for a script that starts it"),
            ("kill -HUP $(cat data/carillon.lock)", "reload the configuration, all keys and all certificates"),
            ("curl http://127.0.0.1:8470/readyz", "check whether a running Carillon can send notifications now"),
        ], exits: exits
    ) { arguments in
        TrapReport.install()
        let drain = try drainTime(arguments.text("drain"))
        let flags = arguments.text("data").map { ["data": $0] } ?? [:]
        let (file, parsed) = try Configuration.load(file: arguments.text("config"), flags: flags)
        let source = ConfigurationSource(file: file, flags: flags)
        let supervisor = Supervisor(ProcessInfo.processInfo.environment)
        let running = try await RunningCarillon.start(source, parsed: parsed, supervisor: supervisor) {
            _exit(ExitCode.failed.rawValue)
        }
        let report = await running.startReport()
        if arguments.has("json") {
            Terminal.output.write(report.json)
        } else if parsed.configuration.log.format == .text, !JournalStream.isJournal(descriptor: 1) {
            // A JSON log has one object per line and no other text, and in the journal the lines of a table are entries
            // of their own. The log contains the same information.
            Terminal.output.write(report.text(on: Terminal.output))
        }
        running.logStart(report)
        switch await running.run(drainingWithin: drain) {
        case .stopped: return .done
        case .stoppedAtOnce, .halted: return .failed
        }
    }

    /// The exit codes, for authors of unit files and scripts.
    private static let exits: [(code: ExitCode, about: String)] = [
        (.done, "stopped by a signal; the next start sends the remaining messages"),
        (
            .failed,
            "stopped by a second SIGTERM, or by an error: the disk is full, a ledger file is damaged, the path of the "
                + "control socket is too long, or the store of the cluster was replaced by a restored one"
        ),
        (.usage, "the command line is invalid"),
        (
            .unavailable,
            "an address to bind is in use or not of this machine, or the directory of an ipc path is missing or not "
                + "writable"
        ),
        (.tryAgain, "another Carillon runs on the data directory"),
        (.notPermitted, "this user has no permission to use the data directory"),
        (
            .configuration,
            "the configuration, or a file that it names, is invalid; 'carillon check' lists all faults"
        ),
    ]

    static func drainTime(_ text: String?) throws(Failure) -> Duration {
        guard let text else { return .seconds(30) }
        guard let time = DurationText.read(text), time <= .seconds(3600) else {
            throw Failure(.usage, "'--drain' must be a time up to 1h, such as 30s, not '\(text)'")
        }
        return time
    }
}
