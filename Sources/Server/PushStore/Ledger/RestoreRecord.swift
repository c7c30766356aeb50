import PushModel
import PushTime
import PushWire

/// The mark of a restore in a ledger, from which the first start makes the event `ledger.restored`.
///
/// It is never removed: the number of the newest event of that kind says whether the event is on disk. A start that is
/// killed before that announces it again, under a number that nobody has seen.
enum RestoreRecord {
    private static let names = ["restored_backup", "restored_newest", "restored_next"]

    /// Records that the numbers of a gap are left out. Call this in the transaction that adds the gap.
    static func add(
        _ gap: ClosedRange<UInt64>, to connection: SQLiteConnection, madeAt time: WallTime
    ) throws(StoreError) {
        let add = try connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)")
        for (name, value) in zip(
            names, [UInt64(bitPattern: time.milliseconds), gap.lowerBound - 1, gap.upperBound + 1])
        {
            add.bind(1, name)
            add.bind(2, value)
            try add.run()
        }
    }

    /// Returns the last restore if it is not announced yet.
    ///
    /// - Parameter heads: The newest events of the topics.
    static func unannounced(
        in connection: SQLiteConnection, heads: [LogWriter.Head]
    ) throws(StoreError) -> RestoredLog? {
        let find = try connection.prepare("SELECT value FROM meta WHERE name = ?")
        defer { find.reset() }
        var values: [Int64] = []
        for name in names {
            find.bind(1, name)
            guard try find.step() else { return nil }
            values.append(find.number(0))
            find.reset()
        }
        // A damaged file may have any numbers.
        guard let newest = UInt64(exactly: values[1]), let next = UInt64(exactly: values[2]) else { return nil }
        guard !heads.contains(where: { $0.kind == .ledgerRestored && $0.seq >= next }) else { return nil }
        return RestoredLog(madeAt: WallTime(milliseconds: values[0]), newest: newest, next: next)
    }
}
