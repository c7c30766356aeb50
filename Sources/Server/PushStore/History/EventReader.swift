package import PushModel
package import PushTime
import PushWire

/// Reads the kept events for HTTP requests. Both the number of examined events and the size of an answer are bounded.
package struct EventReader: Sendable {
    /// The number of bytes after which no more events are added to an answer. Clients accept answers of up to 16 MiB.
    package static let maxBytes = 2 << 20
    /// The number of events after which a request stops reading and answers with the events found so far.
    package static let maxScanned = 500_000
    private static let pageSize = 5000

    package let log: any EventLog
    /// The apps whose events are read; nil for all events. Events of no app are only among all.
    private let apps: [AppID]?

    package init(log: any EventLog, apps: [AppID]? = nil) { (self.log, self.apps) = (log, apps) }

    /// Returns the same with the events of these apps only, so that others count to no limit.
    package func limited(to apps: [AppID]?) -> EventReader { EventReader(log: log, apps: apps) }

    /// The lines that were found, and the place that the reading has reached.
    package struct Found: Sendable {
        package var lines: [[UInt8]] = []
        package var bytes = 0
        /// The place after the last events that were examined.
        package var next: LogPosition
        /// The range of stored numbers of each part.
        package var bounds: [LogBounds] = []
        /// Whether more matching events may exist after `next`.
        package var hasMore = false
        /// The first numbers of the segments that could not be read.
        package var damaged: [UInt64] = []

        /// The oldest stored number of each part.
        package var oldest: LogPosition { place(\.oldest) }
        /// The newest stored number of each part.
        package var newest: LogPosition { place(\.newest) }

        private func place(_ number: (LogBounds) -> UInt64) -> LogPosition {
            var place = LogPosition()
            if bounds.count == 1 {
                place[0] = number(bounds[0])
            } else {
                for (part, bounds) in bounds.enumerated() { place[part] = EventNumber.within(number(bounds)) }
            }
            return place
        }

        /// The parts of which events after a place are not stored any more: the number of the place, and the oldest one.
        package func gaps(since: LogPosition) -> [(part: Int, since: UInt64, oldest: UInt64)] {
            bounds.indices.compactMap { part in
                let (at, oldest) = (since[part], oldest[part])
                return oldest > at && oldest - at > 1 ? (part, at, oldest) : nil
            }
        }
    }

    /// A filter for events of some apps whose topic begins with a prefix. It looks at each topic once per segment, not per
    /// event.
    package struct TopicFilter {
        private let prefixes: [String]
        private let apps: [AppID]?
        /// Whether events about webhooks are left out unless a prefix names them.
        private let isOfWebhook: Bool
        private var known: [UInt32: Bool] = [:]

        package init(prefix: String, apps: [AppID]? = nil) {
            (prefixes, self.apps, isOfWebhook) = ([prefix], apps, false)
        }

        package init(ofWebhook prefixes: [String]) {
            (self.prefixes, apps, isOfWebhook) = (prefixes, nil, true)
        }

        mutating func takes(_ entry: borrowing LogEntry) -> Bool {
            if !isOfWebhook, apps == nil, prefixes == [""] { return true }
            let event = entry.event
            let key = UInt32(event.kind.rawValue) << 16 | UInt32(truncatingIfNeeded: (event.app ?? -1) + 1)
            if let answer = known[key] { return answer }
            let app = entry.app
            let isOfApps = apps.map { apps in app.map { apps.contains($0) } ?? false } ?? true
            let answer = isOfApps && takes(event.kind.topic(of: app))
            known[key] = answer
            return answer
        }

        private func takes(_ topic: String) -> Bool {
            let own = "webhook/"
            let isNamed = isOfWebhook && topic.hasPrefix(own)
            return prefixes.contains { topic.hasPrefix($0) && (!isNamed || $0.hasPrefix(own)) }
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

    // MARK: Times

    /// Returns a place such that all events up to it happened before `time`. It reads only a few segments of each part.
    package func position(before time: WallTime) async throws -> LogPosition {
        var place = LogPosition()
        for (part, bounds) in try await log.bounds().enumerated() {
            let number = try await number(before: time, in: bounds)
            place[part] = log.partCount == 1 ? number : EventNumber.within(number)
        }
        return place
    }

    /// The same number of the only part of a log.
    package func number(before time: WallTime) async throws -> UInt64 { try await position(before: time)[0] }

    private func number(before time: WallTime, in bounds: LogBounds) async throws -> UInt64 {
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

    // MARK: Forward

    /// Returns at most `limit` events after `since` whose topic begins with `prefix`. Events outside of `span` are
    /// skipped, and the reading of a part stops after its end.
    ///
    /// The events of each part are in the order of their numbers. Those of several parts are merged by their times as
    /// far as that order allows, and each part has its share of the limit.
    package func forward(
        since: LogPosition, prefix: String, limit: Int, span: Span = Span()
    ) async throws -> Found {
        var scan = ForwardScan(found: Found(next: since), filter: TopicFilter(prefix: prefix, apps: apps), span: span)
        if log.partCount == 1 {
            try await read(part: 0, into: &scan, limit: limit)
            return scan.finish()
        }
        scan.found.bounds = try await log.bounds()
        var parts = scan.found.bounds.indices.filter {
            log.number(of: $0, at: since) < scan.found.bounds[$0].newest
        }
        while !parts.isEmpty {
            var rest: [Int] = []
            for (index, part) in parts.enumerated() {
                let left = limit - scan.count
                guard left > 0, scan.found.bytes < Self.maxBytes, scan.scanned < Self.maxScanned else {
                    scan.found.hasMore = true
                    return scan.finish()
                }
                let share = max(1, left / (parts.count - index))
                try await read(part: part, into: &scan, limit: share)
                if exchange(&scan.found.hasMore, with: false) { rest.append(part) }
            }
            parts = rest
        }
        return scan.finish()
    }

    /// The same for a place after one event.
    package func forward(
        since: UInt64, prefix: String, limit: Int, span: Span = Span()
    ) async throws -> Found {
        try await forward(since: LogPosition(after: since), prefix: prefix, limit: limit, span: span)
    }

    /// Reads a part from its place on, up to its end, to `limit` events or to a limit of the whole scan.
    ///
    /// - Throws: also `CancellationError`, so that a request ends with its client.
    private func read(part: Int, into scan: inout ForwardScan, limit: Int) async throws {
        let isOnly = log.partCount == 1
        var at = log.number(of: part, at: scan.found.next)
        let start = at
        scan.begin(part: part, limit: limit)
        while true {
            try Task.checkCancellation()
            let whole = try await log.read(since: at, limit: Self.pageSize)
            // The next answer begins behind the gap, so that its oldest event is the one after it.
            if at > start, whole.gap(at: at) != nil {
                scan.found.hasMore = true
                return
            }
            let page = whole.divided(after: at)
            let bounds = LogBounds(oldest: page.oldest, newest: page.newest)
            if isOnly { scan.found.bounds = [bounds] } else { scan.found.bounds[part] = bounds }
            guard let last = page.segments.last, last.last > at else {
                // The rest of the numbers before a gap has no events.
                if page.newest < whole.newest, page.newest > at {
                    scan.found.next[part] = isOnly ? page.newest : EventNumber.within(page.newest)
                    scan.found.hasMore = true
                }
                return
            }
            for segment in page.segments where segment.last > at {
                let isGoingOn = scan.add(segment, &at)
                scan.found.next[part] = isOnly ? at : EventNumber.within(at)
                if !isGoingOn { return }
            }
            guard scan.scanned < Self.maxScanned else {
                scan.found.hasMore = true
                return
            }
        }
    }

    /// Returns the messages that were accepted at a time or later and whose ids begin with a prefix; nil if there are
    /// more than a limit, or too many events. The log must have one part.
    package func accepted(
        since time: WallTime, prefix: String, limit: Int
    ) async throws -> [(id: String, at: WallTime)]? {
        var at = try await number(before: time)
        var (found, scanned): ([(id: String, at: WallTime)], UInt64) = ([], 0)
        while true {
            let page = try await log.read(since: at, limit: Self.pageSize)
            guard let last = page.segments.last?.last, last > at else { return found }
            for segment in page.segments where segment.last > at {
                try segment.entries(since: at) { entry in
                    if entry.event.kind == .messageAccepted, entry.event.time >= time, let id = entry.messageID,
                        id.hasPrefix(prefix)
                    {
                        found.append((id, entry.event.time))
                    }
                    return true
                }
            }
            scanned += last - at
            at = last
            guard scanned < UInt64(Self.maxScanned), found.count <= limit else { return nil }
        }
    }

    // MARK: The end

    /// Returns the last `limit` events whose topic begins with `prefix`, in order; those of several parts by their times.
    package func last(_ limit: Int, prefix: String) async throws -> Found {
        var found = Found(next: LogPosition())
        found.bounds = try await log.bounds()
        let isOnly = log.partCount == 1
        // Of many parts, the last events are few in each.
        let stretch = isOnly ? 5000 : UInt64(max(100, min(5000, limit)))
        let maxScanned = max(Int(stretch), Self.maxScanned / max(1, found.bounds.count))
        var filter = TopicFilter(prefix: prefix, apps: apps)
        var runs: [[ForwardScan.Line]] = []
        for (part, bounds) in found.bounds.enumerated() {
            var backwards = LogBackwards(log, part: part, bounds, stretch: stretch)
            var text = EventText()
            var groups: [[ForwardScan.Line]] = []
            var count = 0
            while count < limit, backwards.scanned < maxScanned, let segments = try await backwards.next() {
                for segment in segments.reversed() where count < limit {
                    var lines: [ForwardScan.Line] = []
                    filter.segmentBegins()
                    do {
                        try segment.entries(since: backwards.low) { entry in
                            if entry.event.seq > backwards.high { return false }
                            if filter.takes(entry) { lines.append((entry.event.time, entry.line(&text))) }
                            return true
                        }
                    } catch {
                        found.damaged.append(segment.first)
                    }
                    groups.append(lines)
                    count += lines.count
                }
            }
            runs.append(groups.reversed().flatMap { $0 }.suffix(limit))
        }
        found.lines = ForwardScan.merged(runs).suffix(limit)
        while found.bytes + found.lines.reduce(0, { $0 + $1.count }) > 4 * Self.maxBytes { found.lines.removeFirst() }
        found.next = found.newest
        found.damaged.reverse()
        return found
    }
}
