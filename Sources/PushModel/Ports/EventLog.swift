/// Read access to the stored events.
package protocol EventLog: AnyObject, Sendable {
    /// Returns segments with events numbered above `since`, in order and with about `limit` events at most, and the
    /// range of stored numbers.
    func read(since: UInt64, limit: Int) async throws -> LogPage

    /// Returns the segments that may contain events of the subject, in order. Not every event in them belongs to it.
    func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment]

    /// Returns the segments that end after the event with this number.
    func trace(_ subject: TraceSubject, after: UInt64, limit: Int) async throws -> [LogSegment]
}

extension EventLog {
    package func trace(_ subject: TraceSubject, after: UInt64, limit: Int) async throws -> [LogSegment] {
        Array(try await trace(subject, limit: .max).filter { $0.last > after }.prefix(limit))
    }
}

package struct LogPage: Sendable {
    package let segments: [LogSegment]
    /// The number of the oldest stored event.
    package let oldest: UInt64
    /// The number of the newest stored event.
    package let newest: UInt64

    package init(segments: [LogSegment], oldest: UInt64, newest: UInt64) {
        self.segments = segments
        self.oldest = oldest
        self.newest = newest
    }
}

package enum TraceSubject: Sendable, Hashable {
    /// A message, of one app or, with nil, of any. The log may return more than the events of that app.
    case message(MessageID, app: AppID? = nil)
    case device(DeviceID)
}
