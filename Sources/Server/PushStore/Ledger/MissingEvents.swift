import PushTime

/// Events that a ledger has lost since it was closed. Their numbers are a gap of the log.
package struct MissingEvents: Sendable {
    /// The committed transactions that are lost with the damaged part of the write-ahead log; nil if the ledger ends
    /// before an event that the registry has applied, for whatever reason.
    package let transactions: LostTransactions?
    /// The newest event that is left.
    package let newest: UInt64
    /// The number of the next event.
    package let next: UInt64

    /// An event takes at least this many bytes of a page.
    private static let leastBytes = 6

    /// Leaves out all numbers that may have been assigned after the newest event, if events are missing.
    static func leaveOut(
        _ lost: LostTransactions?, applied: UInt64, in connection: SQLiteConnection, at now: WallTime
    ) throws(StoreError) -> MissingEvents? {
        guard lost != nil || applied > 0 else { return nil }
        let newest = try LogGap.newest(in: connection, version: LedgerSchema.version)
        guard lost != nil || applied > newest else { return nil }
        let known = max(applied, newest + UInt64((lost?.bytes ?? 0) / leastBytes))
        let gap = try LogGap.after(newest, known: known, elapsed: .zero)
        try connection.run("BEGIN IMMEDIATE")
        try LogGap.add(gap, to: connection, at: now)
        try connection.run("COMMIT")
        return MissingEvents(transactions: lost, newest: newest, next: gap.upperBound + 1)
    }
}
