/// The kept events, to be read again.
package protocol EventLog: AnyObject, Sendable {
    /// Segments with events numbered above `since`, in order, at most about `limit` events in all; and what there is.
    func read(since: UInt64, limit: Int) async throws -> LogPage

    /// Segments in which something of it may be told, in order. Not each event in them is.
    func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment]
}

package struct LogPage: Sendable {
    package let segments: [LogSegment]
    /// The number of the oldest event that is kept, and of the newest that is written.
    package let oldest: UInt64
    package let newest: UInt64

    package init(segments: [LogSegment], oldest: UInt64, newest: UInt64) {
        self.segments = segments
        self.oldest = oldest
        self.newest = newest
    }
}

package enum TraceSubject: Sendable, Hashable {
    case message(MessageID)
    case device(DeviceID)
}
