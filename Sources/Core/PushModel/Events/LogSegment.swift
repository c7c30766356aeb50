package import PushTime

/// A run of events with ascending numbers that the ledger wrote as one group. The module `PushWire` defines the format.
package struct LogSegment: Sendable {
    /// The number of the first event.
    package let first: UInt64
    package let count: Int
    /// The time of the first event, to which the times of the others are relative.
    package let time: WallTime
    package let bytes: [UInt8]
    /// Whether an event may deactivate a device. Of a segment that was read from a disk it is not known.
    package let mayDeactivate: Bool

    package init(first: UInt64, count: Int, time: WallTime, bytes: [UInt8], mayDeactivate: Bool = true) {
        self.first = first
        self.count = count
        self.time = time
        self.bytes = bytes
        self.mayDeactivate = mayDeactivate
    }

    package var last: UInt64 { first + UInt64(max(count, 1)) - 1 }
}
