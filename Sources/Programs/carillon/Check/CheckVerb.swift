import FoundationEssentials
import Glibc
import PushConfiguration
import PushGateways
import PushLoop
import PushModel
import PushServer
import PushWire

/// `carillon check`: checks whether `serve` would start with the configuration, whether the credentials of its apps are
/// valid, and with `--connect` whether the push service accepts them.
enum CheckVerb {
    static let verb = Verb(
        name: "check", summary: "check configuration and credentials; with --connect, try them",
        details: """
            Examines the configuration as 'carillon serve' does at its start, without starting: all settings, the \
            data directory, keys and certificates, and whether the addresses can be bound. All faults are listed, \
            each with its place.

            With --connect, the push service of each app is asked as well whether it accepts the credential, the \
            topic and the environment. This takes one notification to a device token that does not exist.
            """,
        words: [Word("APP", about: "an app of the configuration; all if left out", isOptional: true)],
        options: [
            Option("config", value: "FILE", about: "the configuration (carillon.json5 here or in /etc/carillon)"),
            Option(
                "connect",
                about: "check that the push service accepts each key, topic and environment, with one notification "
                    + "to a device token that does not exist"),
            Option("timeout", value: "TIME", about: "the limit for each app (20s)"),
            Option("json", about: "print one JSON object"),
        ],
        examples: [
            ("carillon check", "check the configuration before a reload"),
            ("carillon check --connect", "check before going live that the push service accepts every credential"),
            ("carillon check shop --connect --json", "check one app, for a script"),
        ]
    ) { arguments in
        do {
            return try await run(arguments)
        } catch {
            let failure = Failure(error)
            guard arguments.has("json"), failure.code != .usage else { throw error }
            let members: [String: JSONValue?] = [
                "ok": false, "exit_code": .integer(Int64(failure.code.rawValue)),
                "faults": .texts(failure.description.split(separator: "\n").map(String.init)),
            ]
            Terminal.output.write(MachineLine.text(members))
            return failure.code
        }
    }

    /// The maximum number of connections that are tried at the same time.
    private static let maxAtOnce = 8

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let timeout = try Duration.timeout(arguments)
        let (file, parsed) = try Configuration.load(file: arguments.text("config"))
        let apps =
            try arguments.wordIfGiven("APP").map { [try AppOptions.find($0, in: parsed.configuration.apps, of: file)] }
            ?? parsed.configuration.apps
        var checks = apps.map { AppCheck($0, timeout: timeout, now: .current()) }
        if arguments.has("connect") {
            checks = await connect(checks, timeout: timeout) { $0.probe }
        }
        // A check of one app examines that app only.
        let isWhole = arguments.wordIfGiven("APP") == nil
        var cautions = isWhole ? StartCheck(parsed.configuration).cautions : []
        var faults = isWhole ? StartCheck.faults(of: parsed.configuration) : []
        if isWhole, let found = ServerCertificateCheck(parsed.configuration.http)?.finding(at: .current()) {
            let text = "\(found.what); \(ServerCertificateCheck.advice)"
            if found.isFault { faults.append(StartError(.configuration, text)) } else { cautions.append(text) }
        }
        let report = CheckReport(
            file: file, warnings: parsed.warnings.map(\.description) + cautions,
            faults: faults.map { (fault: StartError) in Failure(fault) }, checks: checks)
        Terminal.output.write(
            arguments.has("json")
                ? report.json : report.text(on: Terminal.output, isConnected: arguments.has("connect")))
        return report.code
    }

    /// Tries the apps, up to `maxAtOnce` at the same time, and returns the checks in their order.
    ///
    /// - Parameter probe: Returns the probe of an app.
    static func connect(
        _ checks: [AppCheck], timeout: Duration, probe: @escaping @Sendable (Configuration.App) -> Probe
    ) async -> [AppCheck] {
        let dependencies = TrialDependencies(lookUps: 4)
        var checks = checks
        var waiting = checks.indices.filter { checks[$0].gateway != nil }[...]
        let count = waiting.count
        var done = 0
        let progress = Progress()
        await withTaskGroup(of: (Int, Trial.Report, Probe).self) { group in
            func next() {
                guard let index = waiting.popFirst(), let gateway = checks[index].gateway else { return }
                group.addTask {
                    let probe = probe(gateway.app)
                    let trial = gateway.trial(probe.delivery, timeout: timeout, on: dependencies)
                    return (index, await trial.run(on: dependencies.loop), probe)
                }
            }
            for _ in 0..<maxAtOnce { next() }
            progress.show(done, of: count)
            for await (index, report, probe) in group {
                checks[index].conclude(report, of: probe)
                done += 1
                progress.show(done, of: count)
                next()
            }
        }
        progress.end()
        await dependencies.end()
        return checks
    }

    /// A line that shows the progress, on a terminal only.
    private struct Progress {
        private let isShown = isatty(2) == 1

        func show(_ done: Int, of count: Int) {
            if isShown { Terminal.error.write("\r\(done) of \(count) tried ") }
        }

        func end() {
            if isShown { Terminal.error.write("\r\u{1b}[K") }
        }
    }
}
