/// Events as the ledger holds them: a run of ascending numbers, written in one group. `PushWire` knows the bytes.
package struct LogSegment: Sendable {
    /// The number of the first event in it.
    package let first: UInt64
    package let count: Int
    /// Milliseconds since 1970: the first event's time, which the others count from.
    package let time: Int64
    package let bytes: [UInt8]

    package init(first: UInt64, count: Int, time: Int64, bytes: [UInt8]) {
        self.first = first
        self.count = count
        self.time = time
        self.bytes = bytes
    }

    package var last: UInt64 { first + UInt64(max(count, 1)) - 1 }
}
