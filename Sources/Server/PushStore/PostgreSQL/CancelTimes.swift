import PushTime

/// The cancelled ids of one part, with the times of their rows: what is older than the window is known without asking
/// the database, whose answer to a removal may be lost.
struct CancelTimes {
    struct Cancelled: Equatable {
        let number: UInt64
        let fingerprint: UInt64
    }

    private static let bucketSize: Int64 = 60_000
    /// A row with a time further ahead than this was written while the clock of the database was wrong.
    private static let tolerance: Int64 = 3_600_000

    /// The cancelled ids by the minute of their rows.
    private var buckets: [Int64: [Cancelled]] = [:]
    /// The minute of the last cancellation with each number. An id may be cancelled anew if nothing of it could be
    /// cancelled before.
    private var minutes: [UInt64: Int64] = [:]

    func contains(_ number: UInt64) -> Bool { minutes[number] != nil }

    mutating func add(_ cancelled: Cancelled, at time: WallTime) {
        add(cancelled, in: Self.minute(of: time))
    }

    private mutating func add(_ cancelled: Cancelled, in minute: Int64) {
        minutes[cancelled.number] = minute
        buckets[minute, default: []].append(cancelled)
    }

    /// Removes and returns what is older than the limit, to a minute. `isKept` returns whether one is still needed.
    ///
    /// - Parameter now: The time of the clock. Rows that are dated further ahead count as those of now.
    mutating func removeAll(
        before limit: WallTime, now: WallTime, unless isKept: (UInt64) -> Bool
    ) -> [Cancelled] {
        let first = Self.minute(of: limit)
        let last = Self.minute(of: now.adding(milliseconds: Self.tolerance))
        var removed: [Cancelled] = []
        for minute in buckets.keys where minute < first || minute > last {
            for cancelled in buckets.removeValue(forKey: minute) ?? [] where minutes[cancelled.number] == minute {
                if minute > last {
                    add(cancelled, in: Self.minute(of: now))
                } else if isKept(cancelled.number) {
                    buckets[minute, default: []].append(cancelled)
                } else {
                    minutes[cancelled.number] = nil
                    removed.append(cancelled)
                }
            }
        }
        return removed
    }

    private static func minute(of time: WallTime) -> Int64 { time.milliseconds / bucketSize }
}
