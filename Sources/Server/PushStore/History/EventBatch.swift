package import PushModel
import PushWire

/// Events for a webhook: the body of one request.
package struct EventBatch: Sendable {
    /// The maximum number of events.
    package static let maxEvents = 100
    /// The maximum size of the body, unless a single event is larger.
    package static let maxBytes = 256 << 10
    /// The number of events after which a reading ends, so that one without any match does not take long.
    static let maxScanned = 50_000
    private static let pageSize = 1000

    /// A JSON array of the events as monitors read them.
    package fileprivate(set) var body: [UInt8] = [UInt8(ascii: "[")]
    package fileprivate(set) var count = 0
    /// The number of the last event in the body; 0 if there is none.
    package fileprivate(set) var last: UInt64 = 0
    /// The number of the last event that was examined.
    package fileprivate(set) var examined: UInt64
    /// Whether no event with a greater number is stored.
    package fileprivate(set) var isEnd = false
    /// The range of stored numbers.
    package fileprivate(set) var bounds = LogBounds(oldest: 0, newest: 0)
    /// The first numbers of the segments that could not be read.
    package fileprivate(set) var damaged: [UInt64] = []

    fileprivate init(after number: UInt64) { examined = number }

    /// Adds an event, and returns whether there was room for it.
    fileprivate mutating func add(_ entry: borrowing LogEntry, _ text: inout EventText) -> Bool {
        let line = entry.line(&text)
        let hasRoom = count < Self.maxEvents && body.count + line.count + 2 <= Self.maxBytes
        guard count == 0 || hasRoom else { return false }
        if count > 0 { body.append(UInt8(ascii: ",")) }
        body += line
        count += 1
        last = entry.event.seq
        return true
    }

    /// Adds the matching events of a segment, and returns whether the reading goes on.
    fileprivate mutating func add(
        _ segment: LogSegment, through end: UInt64, _ filter: inout EventReader.TopicFilter, _ text: inout EventText
    ) -> Bool {
        var isFull = false
        filter.segmentBegins()
        do {
            try segment.entries(since: examined) { entry in
                guard entry.event.seq <= end, !filter.takes(entry) || add(entry, &text) else {
                    isFull = true
                    return false
                }
                examined = entry.event.seq
                return true
            }
            if !isFull { examined = max(examined, segment.last) }
        } catch {
            damaged.append(segment.first)
            examined = segment.last
        }
        return !isFull
    }

    fileprivate static func read(
        _ log: any EventLog, after start: UInt64, through end: UInt64, _ filter: EventReader.TopicFilter
    ) async throws -> EventBatch {
        var (batch, filter, text) = (EventBatch(after: start), filter, EventText())
        var isGoingOn = true
        while isGoingOn, batch.examined - start < Self.maxScanned {
            let page = try await log.read(since: batch.examined, limit: pageSize)
            batch.bounds = LogBounds(oldest: page.oldest, newest: page.newest)
            guard let last = page.segments.last, last.last > batch.examined else {
                // The numbers of a gap at the end have no events.
                if batch.bounds.newest <= end { batch.examined = max(batch.examined, page.newest) }
                batch.isEnd = true
                break
            }
            for segment in page.segments where isGoingOn && segment.last > batch.examined {
                isGoingOn = batch.add(segment, through: end, &filter, &text)
            }
        }
        batch.body.append(UInt8(ascii: "]"))
        return batch
    }
}

extension EventReader {
    /// Returns the first events after a number, up to `end`, whose topics begin with one of the prefixes.
    ///
    /// Events about webhooks are left out unless a prefix names them: otherwise a receiver of everything would get events
    /// about itself. The log must have one part.
    @concurrent
    package func batch(
        after number: UInt64, through end: UInt64 = .max, prefixes: [String]
    ) async throws -> EventBatch {
        try await EventBatch.read(log, after: number, through: end, TopicFilter(ofWebhook: prefixes))
    }
}
