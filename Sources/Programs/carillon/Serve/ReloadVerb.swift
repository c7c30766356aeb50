import PushAPI
import PushText

/// `carillon reload`: makes a running Carillon read its configuration again, and shows the effect.
enum ReloadVerb {
    static let verb = Verb(
        name: "reload", summary: "read the configuration again, and show what changed",
        details: """
            The running Carillon reads its configuration again, as after the signal SIGHUP, and then all keys and \
            certificates that it names. The answer lists the settings that changed, those that take effect after a \
            restart, and the faults for which the file was refused. A file with a fault is refused as a whole, and the \
            configuration in force stays. Faults of keys and certificates do not refuse it: they are in the log, and \
            in 'carillon doctor'.
            """,
        options: ControlOptions.options + [ControlOptions.json],
        examples: [
            ("carillon check && carillon reload", "check the file before it is loaded"),
            ("carillon reload --json | jq .needs_restart", "list the settings that need a restart, for a script"),
        ],
        exits: [
            (.done, "the configuration was loaded; settings that need a restart are listed"),
            (.failed, "the configuration was refused, and the one in force is unchanged"),
        ]
    ) { arguments in
        let answer = try await ControlOptions.client(arguments).ask("POST", at: "/v1/reload", for: ReloadAnswer.self)
        if arguments.has("json") {
            ControlOptions.write(answer)
        } else {
            Terminal.output.write(ReloadReport(answer).text(on: Terminal.output))
        }
        return answer.reloaded ? .done : .failed
    }
}

/// The effect of a reload as text.
struct ReloadReport {
    let answer: ReloadAnswer

    init(_ answer: ReloadAnswer) {
        self.answer = answer
    }

    func text(on terminal: Terminal) -> String {
        guard answer.reloaded else {
            return terminal.colored("refused: the configuration in force is unchanged\n", in: .red)
                + answer.refused.map { item($0, on: terminal) }.joined()
        }
        let changed = answer.changed.map { item(Self.line($0), on: terminal) }.joined()
        let waiting = answer.needsRestart.map { item(Self.line($0), on: terminal) }.joined()
        let warnings = answer.warnings.map { item($0, on: terminal) }.joined()
        return
            (changed.isEmpty && waiting.isEmpty
            ? "reloaded: no setting changed; keys and certificates were read again\n"
            : changed.isEmpty ? "reloaded: nothing changed that applies now\n" : "reloaded:\n" + changed)
            + (waiting.isEmpty ? "" : terminal.colored("after a restart:\n", in: .yellow) + waiting)
            + (warnings.isEmpty ? "" : terminal.colored("warnings:\n", in: .yellow) + warnings)
    }

    private func item(_ text: String, on terminal: Terminal) -> String {
        PlainText.lines(text).split(separator: "\n").map { "  \(terminal.hanging(String($0), indent: 2))\n" }.joined()
    }

    private static func line(_ change: ConfigurationAnswer.Change) -> String {
        switch (change.was, change.now) {
        case (let was?, let now?): "\(change.path): \(was) → \(now)"
        case (nil, let now?): "\(change.path): added, \(now)"
        case (let was?, nil): "\(change.path): removed, was \(was)"
        case (nil, nil): change.path
        }
    }
}
