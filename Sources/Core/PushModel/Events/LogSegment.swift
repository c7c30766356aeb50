package import PushTime

/// A run of events with ascending numbers that the ledger wrote as one group. The module `PushWire` defines the format.
package struct LogSegment: Sendable {
    /// The number of the first event.
    package let first: UInt64
    package let count: Int
    /// The time of the first event, to which the times of the others are relative.
    package let time: WallTime
    package let bytes: [UInt8]

    package init(first: UInt64, count: Int, time: WallTime, bytes: [UInt8]) {
        self.first = first
        self.count = count
        self.time = time
        self.bytes = bytes
    }

    package var last: UInt64 { first + UInt64(max(count, 1)) - 1 }
}
