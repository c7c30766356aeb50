import PushModel
import PushWire

/// A walk through the log from its end to its beginning, one stretch at a time. The log itself can only be read
/// forward.
struct LogBackwards {
    private let log: any EventLog
    private let stretch: UInt64
    /// The bounds of the current stretch: it has the events above `low`, up to and including `high`.
    private(set) var low: UInt64 = 0
    private(set) var high: UInt64 = 0
    private(set) var oldest: UInt64 = 0
    private(set) var newest: UInt64 = 0
    private(set) var scanned = 0
    private var hasBegun = false

    /// Creates a walk.
    ///
    /// - Parameter start: the number of the event before which the walk begins; nil for the end of the log.
    init(_ log: any EventLog, from start: UInt64? = nil, stretch: UInt64 = 5000) {
        self.log = log
        self.stretch = stretch
        if let start { low = start - min(start, 1) }
        isAtEnd = start == nil
    }

    private let isAtEnd: Bool

    /// Reads the bounds of the log, unless they are known.
    mutating func begin() async throws {
        guard !hasBegun else { return }
        hasBegun = true
        // No event has a higher number, so the answer contains only the bounds of the log.
        let page = try await log.read(since: UInt64(Int64.max), limit: 1)
        (oldest, newest) = (page.oldest, page.newest)
        low = isAtEnd ? newest : min(low, newest)
    }

    /// Moves to the previous stretch and returns its segments in ascending order, or nil at the beginning of the log.
    /// The first and the last segment may reach beyond the stretch.
    mutating func next() async throws -> [LogSegment]? {
        try await begin()
        guard low > 0, low >= oldest else { return nil }
        high = low
        low = high - min(high, stretch)
        var segments: [LogSegment] = []
        var at = low
        while at < high {
            let page = try await log.read(since: at, limit: Int(stretch))
            guard let last = page.segments.last, last.last > at else { break }
            segments += page.segments.filter { $0.first <= high }
            at = last.last
        }
        scanned += Int(high - low)
        return segments
    }
}
