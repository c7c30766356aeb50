import PushModel
import PushWire

/// A walk through one part of the log from its end to its beginning, one stretch at a time. The log itself can only be
/// read forward.
struct LogBackwards {
    private let log: any EventLog
    private let stretch: UInt64
    /// The number before the first one of the part.
    private let base: UInt64
    /// The bounds of the current stretch: it has the events above `low`, up to and including `high`.
    private(set) var low: UInt64 = 0
    private(set) var high: UInt64 = 0
    private(set) var oldest: UInt64 = 0
    private(set) var newest: UInt64 = 0
    private(set) var scanned = 0
    private var hasBegun = false

    /// Creates a walk through the only part of a log.
    ///
    /// - Parameter start: the number of the event before which the walk begins; nil for the end of the log.
    init(_ log: any EventLog, from start: UInt64? = nil, stretch: UInt64 = 5000) {
        self.log = log
        self.stretch = stretch
        base = 0
        if let start { low = start - min(start, 1) }
        isAtEnd = start == nil
    }

    /// Creates a walk through a part whose bounds are known.
    ///
    /// - Parameter start: the number of the event before which the walk begins; nil for the end of the part.
    init(_ log: any EventLog, part: Int, _ bounds: LogBounds, from start: UInt64? = nil, stretch: UInt64) {
        self.log = log
        self.stretch = stretch
        let base = EventNumber.base(of: part)
        self.base = base
        (oldest, newest) = (bounds.oldest, bounds.newest)
        low = start.map { max(base, min($0 - min($0, 1), bounds.newest)) } ?? bounds.newest
        isAtEnd = start == nil
        hasBegun = true
    }

    private let isAtEnd: Bool

    /// Whether the walk has reached the beginning of the part.
    var isAtBeginning: Bool { low <= base || low < oldest }

    /// Reads the bounds of the log, unless they are known.
    mutating func begin() async throws {
        guard !hasBegun else { return }
        hasBegun = true
        let bounds = try await log.bounds().first
        (oldest, newest) = (bounds?.oldest ?? 0, bounds?.newest ?? 0)
        low = isAtEnd ? newest : min(low, newest)
    }

    /// Moves to the previous stretch and returns its segments in ascending order, or nil at the beginning of the log.
    /// The first and the last segment may reach beyond the stretch.
    ///
    /// - Throws: also `CancellationError`, so that a search ends with its client.
    mutating func next() async throws -> [LogSegment]? {
        try await begin()
        guard !isAtBeginning else { return nil }
        high = low
        low = high - min(high - base, stretch)
        var segments: [LogSegment] = []
        var at = low
        scanned += Int(high - low)
        while at < high {
            try Task.checkCancellation()
            let page = try await log.read(since: at, limit: Int(stretch))
            // A gap may be larger than the log. No step goes through it.
            if at == low, let gap = page.gap(at: low) { low = max(base, min(low, gap.lowerBound - 1)) }
            guard let last = page.segments.last, last.last > at else { break }
            segments += page.segments.filter { $0.first <= high }
            at = last.last
        }
        return segments
    }
}
