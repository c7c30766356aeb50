import PushLogic
import PushTime

/// The numbers of events that are missing in a ledger that was restored from a backup: those that the lost process may
/// have assigned. They are never used again, and monitors see them as a gap.
enum LogGap {
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
