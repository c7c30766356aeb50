import PushLogic

/// A check of the numbers of stored trace runs. Those of a damaged run may be any, and would hide other events. Confined
/// to the reading thread.
struct TraceRunEnds {
    private let rowUpTo: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StoreError) {
        rowUpTo = try connection.prepare(
            "SELECT first, first + count - 1 FROM log WHERE first <= ? ORDER BY first DESC LIMIT 1")
    }

    /// Returns whether the last event of a run is the last one of a row of the log, and the row is in the run. If the
    /// row is trimmed, no older one exists either.
    func areSound(first: UInt64, last: UInt64) throws(StoreError) -> Bool {
        guard first <= last, last <= FingerprintTable.maximumValue else { return false }
        defer { rowUpTo.reset() }
        rowUpTo.bind(1, last)
        guard try rowUpTo.step() else { return true }
        return rowUpTo.word(0) >= first && rowUpTo.word(1) == last
    }
}
