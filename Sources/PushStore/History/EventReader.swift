package import PushModel
package import PushTime
import PushWire

/// Reads the kept events for HTTP requests. Both the number of examined events and the size of an answer are bounded.
package struct EventReader: Sendable {
    /// The number of bytes after which no more events are added to an answer. Clients accept answers of up to 16 MiB.
    package static let mostBytes = 2 << 20
    /// The number of events after which a request stops reading and answers with the events found so far.
    package static let mostScanned = 500_000
    private static let pageSize = 5000

    package let log: any EventLog

    package init(log: any EventLog) { self.log = log }

    /// The lines that were found, and the position that the reading has reached.
    package struct Found: Sendable {
        package var lines: [[UInt8]] = []
        package var bytes = 0
        /// The number of the last event that was examined.
        package var next: UInt64
        package var oldest: UInt64 = 0
        package var newest: UInt64 = 0
        /// Whether more matching events may exist after `next`.
        package var hasMore = false
        /// Whether the next event is later than the requested span.
        package var isPastEnd = false
        /// The first numbers of the segments that could not be read.
        package var damaged: [UInt64] = []
    }

    /// A filter for events whose topic begins with a prefix. It computes each topic once per segment, not per event.
    package struct TopicFilter {
        package let prefix: String
        private var known: [UInt32: Bool] = [:]

        package init(prefix: String) { self.prefix = prefix }

        mutating func takes(_ entry: borrowing LogEntry) -> Bool {
            if prefix.isEmpty { return true }
            let event = entry.event
            let key = UInt32(event.kind.rawValue) << 16 | UInt32(truncatingIfNeeded: (event.app ?? -1) + 1)
            if let answer = known[key] { return answer }
            let answer = event.kind.topic(of: entry.app).hasPrefix(prefix)
            known[key] = answer
            return answer
        }

        /// Called at the start of each segment, because the indexes of apps differ between segments.
        package mutating func segmentBegins() { known = [:] }
    }

    /// A span of time, including both ends.
    package struct Span: Sendable {
        package var since: WallTime
        package var until: WallTime

        package init(since: WallTime = .distantPast, until: WallTime = .distantFuture) {
            self.since = since
            self.until = until
        }
    }

    /// Returns a number such that all events up to it happened before `time`. It reads only a few segments.
    package func number(before time: WallTime) async throws -> UInt64 {
        // No event has a higher number, so the answer contains only the bounds of the log.
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

    /// Returns at most `limit` events after `since` whose topic begins with `prefix`, in order. Events outside of
    /// `span` are skipped, and the reading stops after its end.
    package func forward(since: UInt64, prefix: String, limit: Int, span: Span = Span()) async throws -> Found {
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
                    try segment.entries(since: start) { entry in
                        let event = entry.event
                        if found.lines.count >= limit || found.bytes >= Self.mostBytes {
                            found.hasMore = true
                            return false
                        }
                        if event.time > span.until {
                            found.isPastEnd = true
                            return false
                        }
                        found.next = event.seq
                        if event.time >= span.since, filter.takes(entry) {
                            let line = entry.line(&text)
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

    /// Returns the last `limit` events whose topic begins with `prefix`, in order.
    package func last(_ limit: Int, prefix: String) async throws -> Found {
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
                    try segment.entries(since: backwards.low) { entry in
                        if entry.event.seq > backwards.high { return false }
                        if filter.takes(entry) { lines.append(entry.line(&text)) }
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
