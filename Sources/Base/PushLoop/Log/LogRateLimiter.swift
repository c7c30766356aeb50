/// A place in the source that logs lines. The program has a fixed number of them, so a table of sites is bounded.
struct LogSite: Hashable, Sendable {
    let file: String
    let line: UInt
}

/// Limits the lines that each call site writes per interval and counts the suppressed ones. A peer that triggers the
/// same event a thousand times per second must neither fill the disk nor hide other events.
struct LogRateLimiter {
    enum Verdict: Equatable {
        /// Write the line, and first report how many lines of this site were suppressed since the last report.
        case write(suppressed: Int)
        case suppress
    }

    struct Leftover: Equatable {
        let site: LogSite
        let level: LogLevel
        let subsystem: String
        let suppressed: Int
        /// One of the suppressed messages, or another one of the site.
        let message: String
    }

    private struct Window {
        var end: MonotonicTime
        var written = 0
        var suppressed = 0
        var level: LogLevel
        var subsystem: String
        var message = ""
    }

    private let limit: LogRateLimit
    private var windows: [LogSite: Window] = [:]
    private var nextSweep: MonotonicTime?

    init(_ limit: LogRateLimit) {
        self.limit = limit
    }

    mutating func lineArrived(
        at site: LogSite, level: LogLevel, subsystem: String, message: String, now: MonotonicTime
    ) -> Verdict {
        var window = windows[site] ?? Window(end: now + limit.interval, level: level, subsystem: subsystem)
        defer { windows[site] = window }
        if now >= window.end {
            let suppressed = window.suppressed
            window = Window(end: now + limit.interval, written: 1, level: level, subsystem: subsystem)
            return .write(suppressed: suppressed)
        }
        guard window.written < limit.lines else {
            window.suppressed += 1
            window.level = max(window.level, level)
            window.message = message
            return .suppress
        }
        window.written += 1
        return .write(suppressed: 0)
    }

    /// Removes and returns the sites whose interval has ended with suppressed lines that nobody reported, because the
    /// site has logged nothing since. Scans the table at most once per interval. The result is sorted by file and line.
    mutating func takeLeftovers(now: MonotonicTime) -> [Leftover] {
        if let nextSweep, now < nextSweep { return [] }
        nextSweep = now + limit.interval
        var leftovers: [Leftover] = []
        for (site, window) in windows where now >= window.end {
            windows[site] = nil
            if window.suppressed > 0 {
                leftovers.append(
                    Leftover(
                        site: site, level: window.level, subsystem: window.subsystem, suppressed: window.suppressed,
                        message: window.message))
            }
        }
        return leftovers.sorted { ($0.site.file, $0.site.line) < ($1.site.file, $1.site.line) }
    }

    /// Removes and returns all unreported counts, including those of running intervals. Used at the end of a process.
    mutating func takeAll() -> [Leftover] {
        nextSweep = nil
        return takeLeftovers(now: .distantFuture)
    }
}

/// The maximum number of lines of one call site per interval.
package struct LogRateLimit: Sendable {
    package var lines: Int
    package var interval: Duration

    /// Creates a limit. Ten lines per second are enough to see what happens and few enough to read.
    package init(lines: Int = 10, interval: Duration = .seconds(1)) {
        precondition(lines > 0 && interval > .zero, "a log rate limit needs a line and an interval above zero")
        self.lines = lines
        self.interval = interval
    }
}
