/// Read access to the stored events.
package protocol EventLog: AnyObject, Sendable {
    /// Returns segments with events numbered above `since`, in order and with about `limit` events at most, and the
    /// range of stored numbers.
    ///
    /// In a cluster, the numbers that are read and the range are those of the part that `since` is in.
    func read(since: UInt64, limit: Int) async throws -> LogPage

    /// The number of parts of the log; 1 on a single node.
    var partCount: Int { get }

    /// Returns the range of stored numbers of each part, in the order of the parts.
    func bounds() async throws -> [LogBounds]

    /// Returns the segments that may contain events of the subject, in order. Not every event in them belongs to it.
    func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment]

    /// Returns the segments that end after the event with this number.
    func trace(_ subject: TraceSubject, after: UInt64, limit: Int) async throws -> [LogSegment]
}

extension EventLog {
    package var partCount: Int { 1 }

    package func bounds() async throws -> [LogBounds] {
        // No event has a higher number, so the answer contains only the bounds of the log.
        let page = try await read(since: UInt64(Int64.max), limit: 1)
        return [LogBounds(oldest: page.oldest, newest: page.newest)]
    }

    /// Returns the number in this log that a place names in a part.
    package func number(of part: Int, at place: LogPosition) -> UInt64 {
        // The only part has any number that a request may name.
        if partCount == 1 { return place[part] }
        return EventNumber.base(of: part) + min(place[part], EventNumber.maxWithin)
    }

    package func trace(_ subject: TraceSubject, after: UInt64, limit: Int) async throws -> [LogSegment] {
        Array(try await trace(subject, limit: .max).filter { $0.last > after }.prefix(limit))
    }
}

/// The range of stored numbers of a part of the log. In a part without events, `oldest` is `newest` + 1.
package struct LogBounds: Sendable, Equatable {
    package let oldest: UInt64
    package let newest: UInt64

    package init(oldest: UInt64, newest: UInt64) {
        self.oldest = oldest
        self.newest = newest
    }
}

package struct LogPage: Sendable {
    package let segments: [LogSegment]
    /// The number of the oldest stored event.
    package let oldest: UInt64
    /// The number of the newest stored event, or the last number of a gap behind it.
    package let newest: UInt64
    /// The numbers that were assigned and lost, because the log was restored from a backup. Ascending, with stored
    /// numbers between them.
    package let gaps: [ClosedRange<UInt64>]

    package init(segments: [LogSegment], oldest: UInt64, newest: UInt64, gaps: [ClosedRange<UInt64>] = []) {
        self.segments = segments
        self.oldest = oldest
        self.newest = newest
        self.gaps = gaps
    }
}

package enum TraceSubject: Sendable, Hashable {
    /// A message, of one app or, with nil, of any. The log may return more than the events of that app.
    case message(MessageID, app: AppID? = nil)
    case device(DeviceID)
}
