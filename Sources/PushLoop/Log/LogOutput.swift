import Glibc
import Synchronization

/// A destination of log lines: a descriptor with a format and a level. It is thread-safe and writes each line with one
/// `write`.
package final class LogOutput: Sendable {
    private struct State {
        var line: LogLine
        var format: LogFormat
        var limiter: LogRateLimiter?
        var lost: UInt64 = 0
    }

    /// The number of bytes that a pipe accepts atomically (PIPE_BUF), so that lines of several processes do not mix on
    /// one pipe.
    package static let maxLineLength = 4096

    private let descriptor: CInt
    private let threshold: Atomic<UInt8>
    private let clock: @Sendable () -> (WallTime, MonotonicTime)
    private let state: Locked<State>

    /// Creates an output. The caller keeps ownership of the descriptor, which must outlive the output. Without a
    /// `limit`, every line is written.
    package convenience init(
        descriptor: CInt = 2, format: LogFormat? = nil, level: LogLevel = .info, limit: LogRateLimit? = LogRateLimit()
    ) {
        self.init(
            descriptor: descriptor, format: format ?? .text(for: descriptor), level: level, limit: limit,
            clock: { (.current(), .current()) })
    }

    init(
        descriptor: CInt, format: LogFormat, level: LogLevel, limit: LogRateLimit?,
        maxLineLength: Int = LogOutput.maxLineLength,
        clock: @escaping @Sendable () -> (WallTime, MonotonicTime)
    ) {
        precondition(maxLineLength >= 256, "a log line needs room for at least 256 bytes")
        self.descriptor = descriptor
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

    /// The number of lines lost because `write` failed: the descriptor is closed, or nonblocking and full.
    package var lostLineCount: UInt64 {
        state.withLock { $0.lost }
    }

    /// Logs the counts of rate-limited lines that were not reported yet. Call it at the end of a process.
    package func flushSuppressed() {
        let (time, _) = clock()
        state.withLock { state in
            for leftover in state.limiter?.takeAll() ?? [] { report(leftover, at: time, state: &state) }
        }
    }

    func write(level: LogLevel, subsystem: String, message: String, fields: LogFields, site: LogSite) {
        let (time, now) = clock()
        state.withLock { state in
            if let verdict = state.limiter?.lineArrived(at: site, level: level, subsystem: subsystem, now: now) {
                switch verdict {
                case .suppress: return
                case .write(let suppressed):
                    if suppressed > 0 {
                        let leftover = LogRateLimiter.Leftover(
                            site: site, level: level, subsystem: subsystem, suppressed: suppressed)
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
        let fields: LogFields = [
            .suppressed: leftover.suppressed, .file: "\(leftover.site.file):\(leftover.site.line)",
        ]
        write(
            LogRecord(
                time: time, level: leftover.level, subsystem: leftover.subsystem,
                message: "log lines suppressed by the rate limit: \(leftover.suppressed)", fields: fields),
            state: &state)
    }

    private func write(_ record: LogRecord, state: inout State) {
        state.line.removeAll()
        state.format.write(record, to: &state.line)
        if !send(state.line.bytes) {
            state.lost += 1
        }
    }

    /// Writes a line with one system call. It calls again only if the call was interrupted or wrote only a part.
    private func send(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { buffer in
            var sent = 0
            while sent < buffer.count {
                let count = unsafe Glibc.write(descriptor, buffer.baseAddress! + sent, buffer.count - sent)
                if count > 0 {
                    sent += count
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }
}
