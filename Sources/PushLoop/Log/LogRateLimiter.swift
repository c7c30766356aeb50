/// Where in the source a line is logged. There are as many as the program has, so a table of them is bounded.
struct LogSite: Hashable, Sendable {
    let file: String
    let line: UInt
}

/// Lets each call site write so many lines in a window and counts the rest: a peer that makes the same thing happen a
/// thousand times a second must neither fill the disk nor push out what else happened.
struct LogRateLimiter {
    enum Verdict: Equatable {
        /// Write the line, and before it say how many like it were left out since the last one.
        case write(suppressed: Int)
        case suppress
    }

    struct Leftover: Equatable {
        let site: LogSite
        let level: LogLevel
        let subsystem: String
        let suppressed: Int
    }

    private struct Window {
        var end: MonotonicTime
        var written = 0
        var suppressed = 0
        var level: LogLevel
        var subsystem: String
    }

    private let limit: LogRateLimit
    private var windows: [LogSite: Window] = [:]
    private var nextSweep: MonotonicTime?

    init(_ limit: LogRateLimit) {
        self.limit = limit
    }

    mutating func lineArrived(at site: LogSite, level: LogLevel, subsystem: String, now: MonotonicTime) -> Verdict {
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
            return .suppress
        }
        window.written += 1
        return .write(suppressed: 0)
    }

    /// Sites whose window is over and whose count nobody has said yet, because they fell silent. Looks at the table at
    /// most once an interval; in the order of the source.
    mutating func takeLeftovers(now: MonotonicTime) -> [Leftover] {
        if let nextSweep, now < nextSweep { return [] }
        nextSweep = now + limit.interval
        var leftovers: [Leftover] = []
        for (site, window) in windows where now >= window.end {
            windows[site] = nil
            if window.suppressed > 0 {
                leftovers.append(
                    Leftover(
                        site: site, level: window.level, subsystem: window.subsystem, suppressed: window.suppressed))
            }
        }
        return leftovers.sorted { ($0.site.file, $0.site.line) < ($1.site.file, $1.site.line) }
    }

    /// Everything that was left out and not said yet, whatever its window: for the end of a process.
    mutating func takeAll() -> [Leftover] {
        nextSweep = nil
        return takeLeftovers(now: .distantFuture)
    }
}

/// At most so many lines of one call site in an interval.
package struct LogRateLimit: Sendable {
    package var lines: Int
    package var interval: Duration

    /// Ten a second: enough to see what happens, too little to drown in.
    package init(lines: Int = 10, interval: Duration = .seconds(1)) {
        precondition(lines > 0 && interval > .zero, "a log rate limit needs at least one line and a real interval")
        self.lines = lines
        self.interval = interval
    }
}
