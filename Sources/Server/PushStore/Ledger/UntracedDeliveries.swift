import PushModel
import PushWire

/// The places of deliveries in the part of the log that has no trace run yet, in memory. It is extended when it is
/// asked, so that each event is read once however many ids are looked up.
struct UntracedDeliveries {
    /// The events before the newest that are searched, if the trace runs fall behind.
    static let most = 4 * TraceRun.length

    /// The last event of the runs, after which this begins.
    private(set) var start: UInt64 = 0
    /// The last event that was added.
    private(set) var end: UInt64 = 0
    /// The newest row of each hash, and its earlier ones: nearly all deliveries have one row.
    private var newest: [UInt32: UInt64] = [:]
    private var earlier: [UInt32: [UInt64]] = [:]

    /// Empties the table, to begin after an event.
    mutating func restart(after last: UInt64) {
        self = UntracedDeliveries()
        (start, end) = (last, last)
    }

    /// Adds a log row. Of a damaged row it adds nothing.
    mutating func add(_ segment: LogSegment) {
        end = max(end, segment.last)
        try? unsafe segment.walk { event, _, _ in
            guard let id = event.deliveryID else { return true }
            let hash = TraceRun.hash(id)
            if let row = newest[hash], row != segment.first { earlier[hash, default: []].append(row) }
            newest[hash] = segment.first
            return true
        }
    }

    /// Returns the numbers of the rows that may have events of a delivery, the newest first.
    func rows(of hash: UInt32) -> [UInt64] {
        guard let row = newest[hash] else { return [] }
        return [row] + (earlier[hash] ?? []).reversed()
    }
}
