import PushModel
import PushWire

/// Reads the kept events for those who ask over HTTP: bounded in what it looks at and in what it answers.
struct EventReader: Sendable {
    /// Bytes of events in one answer, and a little more: an answer is at most 16 MiB.
    static let mostBytes = 2 << 20
    /// Events that one request may have looked at before it answers with what it has.
    static let mostScanned = 500_000
    private static let pageSize = 5000

    let log: any EventLog

    /// Lines that were asked for, and how far the reading went.
    struct Found: Sendable {
        var lines: [[UInt8]] = []
        var bytes = 0
        /// Everything up to this number was looked at.
        var next: UInt64
        var oldest: UInt64 = 0
        var newest: UInt64 = 0
        /// There may be more behind `next` already.
        var hasMore = false
        /// The next event happened after the requested time.
        var isPastEnd = false
        /// Where segments begin that could not be read.
        var damaged: [UInt64] = []
    }

    /// Which topics begin with a prefix. Asked once for each topic of a segment, not for each event.
    struct TopicFilter {
        let prefix: String
        private var known: [UInt32: Bool] = [:]

        init(prefix: String) { self.prefix = prefix }

        mutating func takes(_ event: LoggedEvent, _ apps: [AppID]) -> Bool {
            if prefix.isEmpty { return true }
            let key = UInt32(event.kind.rawValue) << 16 | UInt32(truncatingIfNeeded: (event.app ?? -1) + 1)
            if let answer = known[key] { return answer }
            let answer = event.kind.topic(of: event.app.map { apps[$0] }).hasPrefix(prefix)
            known[key] = answer
            return answer
        }

        /// Places of apps mean something else in the next segment.
        mutating func segmentBegins() { known = [:] }
    }

    /// When events happened, milliseconds since 1970, both ends included.
    struct Span: Sendable {
        var since = Int64.min
        var until = Int64.max
    }

    /// A number below which everything happened before `time`. Looks at a handful of segments.
    func number(before time: Int64) async throws -> UInt64 {
        // Nothing is above that, and so nothing but the bounds is answered.
        let bounds = try await log.read(since: UInt64(Int64.max), limit: 1)
        var low = bounds.oldest - min(bounds.oldest, 1)
        var high = max(low, bounds.newest)
        while high - low > UInt64(Self.pageSize) {
            let middle = low + (high - low) / 2
            guard let segment = try await log.read(since: middle, limit: 1).segments.first else {
                high = middle
                continue
            }
            guard segment.time < time else {
                high = middle
                continue
            }
            let before = min(middle, segment.first - min(segment.first, 1))
            guard before > low else { return low }
            low = before
        }
        return low
    }

    /// Events above `since` whose topic begins with `prefix`, in order: at most `limit`. What lies outside of `span` is
    /// passed over, and behind its end nothing more is looked for.
    func forward(since: UInt64, prefix: String, limit: Int, span: Span = Span()) async throws -> Found {
        var found = Found(next: since)
        var filter = TopicFilter(prefix: prefix)
        var text = EventText()
        var scanned = 0
        while true {
            let page = try await log.read(since: found.next, limit: Self.pageSize)
            (found.oldest, found.newest) = (page.oldest, page.newest)
            guard let last = page.segments.last, last.last > found.next else { return found }
            for segment in page.segments where segment.last > found.next {
                filter.segmentBegins()
                let start = found.next
                do {
                    try segment.walk(since: start) { event, apps, bytes in
                        if found.lines.count >= limit || found.bytes >= Self.mostBytes {
                            found.hasMore = true
                            return false
                        }
                        if event.time > span.until {
                            found.isPastEnd = true
                            return false
                        }
                        found.next = event.seq
                        if event.time >= span.since, filter.takes(event, apps) {
                            var line: [UInt8] = []
                            text.append(event, apps, bytes, to: &line)
                            found.bytes += line.count
                            found.lines.append(line)
                        }
                        return true
                    }
                } catch {
                    found.damaged.append(segment.first)
                    found.next = segment.last
                }
                if found.isPastEnd { found.next = max(found.next, found.newest) }
                if found.hasMore || found.isPastEnd { return found }
                scanned += Int(found.next - start)
            }
            guard scanned < Self.mostScanned else {
                found.hasMore = true
                return found
            }
        }
    }

    /// The last `limit` events with the prefix, in order.
    func last(_ limit: Int, prefix: String) async throws -> Found {
        var found = Found(next: 0)
        var backwards = LogBackwards(log)
        var text = EventText()
        var filter = TopicFilter(prefix: prefix)
        var groups: [[[UInt8]]] = []
        var count = 0
        try await backwards.begin()
        while count < limit, backwards.scanned < Self.mostScanned, let segments = try await backwards.next() {
            for segment in segments.reversed() where count < limit {
                var lines: [[UInt8]] = []
                filter.segmentBegins()
                do {
                    try segment.walk(since: backwards.low) { event, apps, bytes in
                        if event.seq > backwards.high { return false }
                        guard filter.takes(event, apps) else { return true }
                        var line: [UInt8] = []
                        text.append(event, apps, bytes, to: &line)
                        lines.append(line)
                        return true
                    }
                } catch {
                    found.damaged.append(segment.first)
                }
                groups.append(lines)
                count += lines.count
            }
        }
        found.lines = groups.reversed().flatMap { $0 }.suffix(limit)
        while found.bytes + found.lines.reduce(0, { $0 + $1.count }) > 4 * Self.mostBytes { found.lines.removeFirst() }
        (found.next, found.oldest, found.newest) = (backwards.newest, backwards.oldest, backwards.newest)
        found.damaged.reverse()
        return found
    }
}

/// Walks the log from its end to its beginning, a stretch at a time. The log itself only reads forward.
struct LogBackwards {
    private let log: any EventLog
    private let stretch: UInt64
    /// The stretch that came last: events above `low`, up to `high`.
    private(set) var low: UInt64 = 0
    private(set) var high: UInt64 = 0
    private(set) var oldest: UInt64 = 0
    private(set) var newest: UInt64 = 0
    private(set) var scanned = 0
    private var hasBegun = false

    /// - Parameter from: where to begin, that number excluded; nil at the end.
    init(_ log: any EventLog, from start: UInt64? = nil, stretch: UInt64 = 5000) {
        self.log = log
        self.stretch = stretch
        if let start { low = start - min(start, 1) }
        isAtEnd = start == nil
    }

    private let isAtEnd: Bool

    /// Looks where the log begins and ends.
    mutating func begin() async throws {
        guard !hasBegun else { return }
        hasBegun = true
        // Nothing is above that, and so nothing but the bounds is answered.
        let page = try await log.read(since: UInt64(Int64.max), limit: 1)
        (oldest, newest) = (page.oldest, page.newest)
        low = isAtEnd ? newest : min(low, newest)
    }

    /// Its segments in ascending order; the first and the last may reach beyond it. Nil at the beginning of the log.
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
