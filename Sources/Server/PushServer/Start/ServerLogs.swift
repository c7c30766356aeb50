import PushConfiguration
import PushLoop

/// The log of the server, and the same log without a rate limit for reloads, of which no line may be missing.
struct ServerLogs: Sendable {
    let log: Logger
    let reloads: Logger
    private let outputs: [LogOutput]

    init(_ settings: Configuration.Log) {
        let output = LogOutput(format: settings.format.forLog, level: settings.level)
        let unlimited = LogOutput(besides: output, limit: nil)
        log = Logger("serve", to: output)
        reloads = Logger("serve", to: unlimited)
        outputs = [output, unlimited]
    }

    func update(_ settings: Configuration.Log) {
        for output in outputs {
            output.level = settings.level
            output.format = settings.format.forLog
        }
    }

    /// Registers the number of lines that were lost.
    func register(in metrics: MetricsRegistry) {
        metrics.computedCounter(
            "carillon_log_lines_lost_total", help: "Lines of the log that were lost because its reader stalled."
        ) { [output = outputs[0]] in Double(output.lostLineCount) }
    }

    /// Writes the counts of lines that the rate limit has suppressed.
    func flush() { outputs[0].flushSuppressed() }
}

extension Configuration.Log.Format {
    fileprivate var forLog: LogFormat {
        switch self {
        case .text: .text(for: 2)
        case .json: .json
        }
    }
}
