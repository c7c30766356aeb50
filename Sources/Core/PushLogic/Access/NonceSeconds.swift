/// The nonces of one key by the second in which their requests were created, and the second up to which no request is
/// accepted any more because its nonce may be forgotten.
struct NonceSeconds: Sendable {
    private struct Second: Sendable {
        let created: Int64
        var head: UInt32
    }

    /// The maximum number of different seconds. An honest client whose clock is right fills at most one a second.
    private static let maxSeconds = 4096

    /// Requests that were created in this second or before it are refused.
    private(set) var floor: Int64
    private(set) var count = 0
    /// In ascending order.
    private var seconds: [Second] = []

    init(floor: Int64) {
        self.floor = floor
    }

    /// Remembers a nonce that the table does not contain. `created` must be above the floor.
    mutating func insert(_ mark: NonceHash, created: Int64, into table: inout NonceTable) {
        let index = place(of: created)
        if index < seconds.count, seconds[index].created == created {
            seconds[index].head = table.insert(mark, before: seconds[index].head)
        } else {
            seconds.insert(Second(created: created, head: table.insert(mark, before: NonceTable.end)), at: index)
        }
        count += 1
        if seconds.count > Self.maxSeconds { refuseOldest() }
    }

    /// Returns the index of the second, or that at which it belongs. Most requests belong to the last one.
    private func place(of created: Int64) -> Int {
        guard let last = seconds.last, created <= last.created else { return seconds.count }
        var (low, high) = (0, seconds.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if seconds[middle].created < created { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Gives up the nonces that were created before `time`. Only seconds in which a request was accepted raise the
    /// floor: a clock that jumps ahead and back refuses nothing afterwards that was not already used.
    mutating func refuse(before time: Int64) {
        guard let first = seconds.first, first.created < time else { return }
        floor = max(floor, seconds[place(of: time) - 1].created)
    }

    /// Gives up the oldest second that is not given up yet.
    mutating func refuseOldest() {
        guard floor < .max else { return }
        let index = place(of: floor + 1)
        if index < seconds.count { floor = seconds[index].created }
    }

    /// Removes at most `limit` nonces that were given up, so that no request pays for many. Returns their number.
    @discardableResult
    mutating func shed(limit: Int, from table: inout NonceTable) -> Int {
        var removed = 0
        var emptied = 0
        while removed < limit, emptied < seconds.count, seconds[emptied].created <= floor {
            seconds[emptied].head = table.removeFirst(seconds[emptied].head)
            removed += 1
            if seconds[emptied].head == NonceTable.end { emptied += 1 }
        }
        if emptied > 0 { seconds.removeFirst(emptied) }
        count -= removed
        return removed
    }
}
