import PushLogic
import PushTime

/// The numbers of events that are missing in a ledger that was restored from a backup, or that has lost its end: those
/// that the lost process may have assigned. They are never used again, and monitors see them as a gap.
enum LogGap {
    /// More events than a process can write in a second.
    static let eventsInSecond: UInt64 = 1_000_000
    /// The smallest gap, which allows for a clock that was wrong by a quarter of an hour.
    static let smallestGap: UInt64 = 1_000_000_000
    /// The largest gap, eleven days of events at that rate and months at the rate of any real load.
    static let largestGap: UInt64 = 1_000_000_000_000

    /// Returns the gaps of a ledger, ascending. Gaps without a number between them are one.
    static func all(in connection: SQLiteConnection) throws(StoreError) -> [ClosedRange<UInt64>] {
        let rows = try connection.prepare("SELECT first, last FROM gaps ORDER BY first")
        defer { rows.reset() }
        var gaps: [ClosedRange<UInt64>] = []
        while try rows.step() {
            let (first, last) = (rows.word(0), rows.word(1))
            // A damaged file may have any numbers.
            guard first > gaps.last?.upperBound ?? 0, first <= last, last < FingerprintTable.maximumValue else {
                throw StoreError(
                    .damaged,
                    "\(connection.path) is damaged: the table gaps contains the invalid number "
                        + "\(Int64(bitPattern: first)); restore it from a backup")
            }
            if let before = gaps.last, before.upperBound + 1 == first {
                gaps[gaps.count - 1] = before.lowerBound...last
            } else {
                gaps.append(first...last)
            }
        }
        return gaps
    }

    /// Returns the newest number that a ledger has assigned or left out.
    static func newest(in connection: SQLiteConnection, version: Int64) throws(StoreError) -> UInt64 {
        let last = try connection.prepare(
            """
            SELECT max(coalesce((SELECT first + count - 1 FROM log ORDER BY first DESC LIMIT 1), 0),
                coalesce((SELECT max(seq) FROM heads), 0))
            """)
        defer { last.reset() }
        var newest = try last.step() ? last.word(0) : 0
        if version > 1 { newest = max(newest, try all(in: connection).last?.upperBound ?? 0) }
        guard newest <= FingerprintTable.maximumValue else {
            throw StoreError(.damaged, "\(connection.path) is damaged: its newest event has the number \(newest)")
        }
        return newest
    }

    /// Returns the numbers that are left out after the newest one of a backup, or of what a loss has left. The last one is
    /// a multiple of a thousand million, so that people recognize the first one after it.
    ///
    /// - Parameters:
    ///   - newest: The newest number that is left.
    ///   - known: A number that the lost process had reached, if one is known.
    ///   - elapsed: The time since then.
    /// - Throws: ``StoreError`` if there are not so many numbers left.
    static func after(
        _ newest: UInt64, known: UInt64, elapsed: Duration
    ) throws(StoreError) -> ClosedRange<UInt64> {
        let seconds = UInt64(clamping: max(0, elapsed.components.seconds))
        let assigned = seconds.multipliedReportingOverflow(by: eventsInSecond)
        let width = min(max(assigned.overflow ? .max : assigned.partialValue, smallestGap), largestGap)
        let limit = FingerprintTable.maximumValue - smallestGap
        // The file of the lost process may be damaged. What no process can have reached is not believed.
        let reached = known > newest && known - newest <= largestGap ? known : newest
        let least = reached + width
        let last = (least + smallestGap - 1) / smallestGap * smallestGap
        guard last < limit else {
            throw StoreError(
                .unsuitable,
                "the numbers of events end at \(FingerprintTable.maximumValue), and a restore after number \(newest) needs "
                    + "\(width) of them; start with a new data directory")
        }
        return (newest + 1)...last
    }

    /// Adds a gap behind the newest event. The next event of each topic names the end of the gap as its predecessor, so
    /// that every monitor notices it.
    static func add(
        _ gap: ClosedRange<UInt64>, to connection: SQLiteConnection, at time: WallTime
    ) throws(StoreError) {
        let add = try connection.prepare("INSERT INTO gaps (first, last, time) VALUES (?, ?, ?)")
        add.bind(1, gap.lowerBound)
        add.bind(2, gap.upperBound)
        add.bind(3, time)
        try add.run()
        let heads = try connection.prepare("UPDATE heads SET seq = ?")
        heads.bind(1, gap.upperBound)
        try heads.run()
    }
}
