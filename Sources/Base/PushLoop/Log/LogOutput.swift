import Synchronization

/// A destination of log lines: a descriptor with a format and a level. It is thread-safe and never waits for the reader
/// of the lines.
package final class LogOutput: Sendable {
    private struct State {
        var line: LogLine
        var format: LogFormat
        var limiter: LogRateLimiter?
    }

    /// The number of bytes that a pipe accepts atomically (PIPE_BUF), so that lines of several processes do not mix on
    /// one pipe.
    package static let maxLineLength = 4096

    private let sink: LogSink
    private let threshold: Atomic<UInt8>
    private let clock: @Sendable () -> (WallTime, MonotonicTime)
    private let state: Locked<State>

    /// Creates an output. The caller keeps ownership of the descriptor, which must outlive the output. Without a
    /// `limit`, every line is written.
    package convenience init(
        descriptor: CInt = 2, format: LogFormat? = nil, level: LogLevel = .info, limit: LogRateLimit? = LogRateLimit()
    ) {
        self.init(
            sink: LogSink(descriptor: descriptor), format: format ?? .text(for: descriptor), level: level, limit: limit,
            clock: { (.current(), .current()) })
    }

    /// Creates an output to the descriptor of another one.
    package convenience init(besides other: LogOutput, limit: LogRateLimit?) {
        self.init(
            sink: other.sink, format: other.format, level: other.level, limit: limit,
            clock: { (.current(), .current()) })
    }

    init(
        sink: LogSink, format: LogFormat, level: LogLevel, limit: LogRateLimit?,
        maxLineLength: Int = LogOutput.maxLineLength,
        clock: @escaping @Sendable () -> (WallTime, MonotonicTime)
    ) {
        precondition(maxLineLength >= 256, "a log line needs room for at least 256 bytes")
        self.sink = sink
        self.clock = clock
        threshold = Atomic(level.rawValue)
        state = Locked(
            State(line: LogLine(limit: maxLineLength), format: format, limiter: limit.map { LogRateLimiter($0) }))
    }

    /// The minimum level of written lines. It may change at any time, for example when the configuration is reloaded.
    package var level: LogLevel {
        get { LogLevel(rawValue: threshold.load(ordering: .relaxed)) ?? .info }
        set { threshold.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// The format of lines. It may change at any time and applies from the next line.
    package var format: LogFormat {
        get { state.withLock { $0.format } }
        set { state.withLock { $0.format = newValue } }
    }

    package func isEnabled(_ level: LogLevel) -> Bool {
        level.rawValue >= threshold.load(ordering: .relaxed)
    }

    /// The number of lines of the descriptor that were lost: its reader stalled for too long, or `write` failed.
    package var lostLineCount: UInt64 { sink.lostLineCount }

    /// Logs the counts of rate-limited lines that were not reported yet, and writes the lines that wait for their
    /// reader. Call it at the end of a process.
    package func flushSuppressed() {
        let (time, _) = clock()
        state.withLock { state in
            for leftover in state.limiter?.takeAll() ?? [] { report(leftover, at: time, state: &state) }
        }
        sink.flush()
    }

    func write(level: LogLevel, subsystem: String, message: String, fields: LogFields, site: LogSite) {
        let (time, now) = clock()
        state.withLock { state in
            let verdict = state.limiter?.lineArrived(
                at: site, level: level, subsystem: subsystem, message: message, now: now)
            if let verdict {
                switch verdict {
                case .suppress: return
                case .write(let suppressed):
                    if suppressed > 0 {
                        let leftover = LogRateLimiter.Leftover(
                            site: site, level: level, subsystem: subsystem, suppressed: suppressed, message: message)
                        report(leftover, at: time, state: &state)
                    }
                }
            }
            write(
                LogRecord(time: time, level: level, subsystem: subsystem, message: message, fields: fields),
                state: &state)
            for leftover in state.limiter?.takeLeftovers(now: now) ?? [] { report(leftover, at: time, state: &state) }
        }
    }

    private func report(_ leftover: LogRateLimiter.Leftover, at time: WallTime, state: inout State) {
        write(
            LogRecord(
                time: time, level: leftover.level, subsystem: leftover.subsystem,
                message: "log lines suppressed by the rate limit: \(leftover.suppressed) like \"\(leftover.message)\"",
                fields: [.suppressed: leftover.suppressed]),
            state: &state)
    }

    private func write(_ record: LogRecord, state: inout State) {
        let lost = sink.takeLoss()
        if lost > 0 {
            send(
                LogRecord(
                    time: record.time, level: .warning, subsystem: record.subsystem,
                    message: "log lines lost, the reader of the log was too slow", fields: [.count: lost]),
                state: &state)
        }
        send(record, state: &state)
    }

    private func send(_ record: LogRecord, state: inout State) {
        state.line.removeAll()
        state.format.write(record, to: &state.line)
        sink.write(state.line.bytes)
    }
}
