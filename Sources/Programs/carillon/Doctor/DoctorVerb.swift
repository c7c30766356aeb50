import PushAPI
import PushText
import PushWire

/// `carillon doctor`: finds what is wrong with an installation.
enum DoctorVerb {
    static let verb = Verb(
        name: "doctor", summary: "find what is wrong with this installation, and what to do",
        details: """
            Examines the configuration, the data directory, the disk, the clock and the limits of this machine, the \
            credentials of all apps, and whether their push services and the database of a cluster can be reached. If \
            Carillon runs, it is asked as well: for apps that cannot send, messages that wait for long, brakes, \
            circuit breakers, pauses, subscribers that do not read, and settings that need a restart. Nothing is \
            changed, and nothing is sent unless --connect is given.

            The findings come in order of weight: a fault keeps messages from being accepted or sent, a warning will \
            become one or hides one, and a note is for your information. Correct the first one first; it may be the \
            cause of others. Run it as the user of Carillon, or as root: files that this user may not read are faults.
            """,
        options: [
            Option("config", value: "FILE", about: "the configuration (else CARILLON_CONFIG, or the usual places)"),
            Option("data", value: "DIR", about: "the data directory, instead of the configuration's"),
            Option(
                "connect",
                about: "check that the push service accepts each credential, with one notification to a device token "
                    + "that does not exist"),
            Option("offline", about: "do not contact push services and the database of a cluster"),
            Option("timeout", value: "TIME", about: "the limit for each app (20s), and for Carillon (5s)"),
            Option("json", about: "print one JSON object"),
        ],
        examples: [
            ("carillon doctor", "when something is wrong, or before going live"),
            ("carillon doctor --connect", "also ask the push services whether they accept the credentials"),
            ("carillon doctor --json | jq -r '.findings[] | select(.severity == \"fault\") | .code'", "for a script"),
        ],
        notes: """
            The codes of findings are from a closed set: \(Finding.Code.allCases.map(\.rawValue).joined(separator: ", ")).
            """,
        exits: [(.done, "there is no fault; there may be warnings"), (.failed, "there are faults")]
    ) { arguments in
        if arguments.has("offline"), arguments.has("connect") {
            throw Failure(.usage, "'--offline' cannot be combined with '--connect'")
        }
        let timeout = try Duration.timeout(arguments)
        let examination = Examination(
            file: arguments.text("config"), data: arguments.text("data"), isOnline: !arguments.has("offline"),
            probes: arguments.has("connect"), timeout: timeout,
            answerTime: arguments.text("timeout") == nil ? .seconds(5) : timeout)
        let facts = await examination.facts()
        let report = DoctorReport(facts: facts, findings: Diagnosis(facts: facts).findings)
        Terminal.output.write(arguments.has("json") ? report.json : report.text(on: Terminal.output))
        return report.code
    }
}

/// The findings of `carillon doctor`.
struct DoctorReport {
    let facts: DoctorFacts
    let findings: [Finding]

    var code: ExitCode { findings.contains { $0.severity == .fault } ? .failed : .done }

    func text(on terminal: Terminal) -> String {
        let place = facts.file.map { PlainText.line($0) } ?? "no configuration"
        let state =
            switch facts.process {
            case .none: "Carillon does not run"
            case .running: "Carillon runs"
            case .silent: "Carillon does not answer"
            case .forbidden: "this user may not ask Carillon"
            }
        var text = "\(terminal.colored(place, in: .bold)): \(state)\n\n"
        if findings.isEmpty { return text + terminal.colored("nothing is wrong", in: .green) + "\n" }
        for finding in findings {
            let color: Terminal.Color =
                switch finding.severity {
                case .fault: .red
                case .warning: .yellow
                case .note: .dim
                }
            let at = finding.place.map { "\(Self.line($0)): " } ?? ""
            let word = terminal.colored(finding.severity.rawValue, in: color)
            text += terminal.hanging("\(word): \(at)\(Self.line(finding.what))", indent: 2) + "\n"
            if let advice = finding.advice {
                text += "  " + terminal.hanging("→ \(Self.line(advice))", indent: 4) + "\n"
            }
        }
        let counts = Finding.Severity.allCases.compactMap { severity -> String? in
            let count = findings.count { $0.severity == severity }
            return count == 0 ? nil : "\(count) \(severity.rawValue)\(count == 1 ? "" : "s")"
        }
        return text + "\n\(counts.joined(separator: ", "))\n"
    }

    private static func line(_ text: String) -> String { PlainText.line(HiddenPassword.line(text), limit: 1000) }

    var json: String {
        MachineLine.text([
            "ok": .bool(code == .done), "exit_code": .integer(Int64(code.rawValue)),
            "configuration": .text(facts.file), "process": .string(facts.process.word),
            "findings": .array(findings.map(\.value)),
        ])
    }
}

extension Finding {
    fileprivate var value: JSONValue {
        let members: [String: JSONValue?] = [
            "severity": .string(severity.rawValue), "code": .string(code.rawValue), "what": .string(what),
            "app": .text(app), "where": .text(place), "advice": .text(advice),
        ]
        return .object(members.compactMapValues { $0 })
    }
}
