import PushAPI
import PushLoop
import PushText

/// A screen that verbs with `--watch` update until Ctrl-C.
struct ScreenWatch: Sendable {
    /// The name of the verb, for its errors.
    let verb: String
    let interval: Duration
    /// Whether each answer is printed as a line of JSON instead.
    let isJSON: Bool

    /// Asks again and again, and prints the answers. The first failure ends it; after an answer, it reconnects.
    ///
    /// - Parameter text: The screen of an answer, given the one before.
    func run<Answer: Encodable & Sendable>(
        _ ask: @escaping @Sendable () async throws -> Answer, text: @escaping @Sendable (Answer, Answer?) -> String
    ) async throws -> ExitCode {
        try await Interruption.end {
            var last: Answer?
            var connection = ConnectionWatch(verb: verb)
            while true {
                let now: Answer
                do {
                    now = try await ask()
                } catch let failure as Failure where last != nil && failure.mayPass {
                    try await connection.lost(failure)
                    continue
                }
                connection.succeeded()
                let shown: String
                if isJSON {
                    shown = String(decoding: APIAnswer.json(now).body, as: UTF8.self)
                } else if Terminal.output.isInteractive {
                    // The lines overwrite the previous screen; clearing it first would flicker.
                    let lines = text(now, last).replacing("\n", with: "\u{1b}[K\n")
                    shown = (last == nil ? "\u{1b}[2J" : "") + "\u{1b}[H" + lines + "\u{1b}[J"
                } else {
                    shown = text(now, last) + "\n"
                }
                guard Terminal.output.write(shown) else { return .done }
                last = now
                try await Task.sleep(for: interval)
            }
        }
    }

    /// Parses the option `--interval`; a second if it is not given.
    static func interval(_ text: String?) throws(Failure) -> Duration {
        guard let text else { return .seconds(1) }
        guard let time = DurationText.read(text), (.milliseconds(100) ... .seconds(3600)).contains(time) else {
            throw Failure(
                .usage,
                "'--interval' must be a time from 100ms to 1h, such as 5s, not '\(PlainText.line(text, limit: 60))'")
        }
        return time
    }
}
