/// The size of the log up to one of its events. It is stored from time to time, so that a start reads only the rows that
/// were written later, and not all of a log of some GiB.
struct LogSize: Equatable {
    /// The number of the first event of the oldest row.
    let oldest: UInt64
    /// The number of the last event that is counted.
    let last: UInt64
    /// The bytes of the rows up to that event.
    let bytes: Int64

    /// Returns the bytes of all rows of the log.
    ///
    /// - Parameter oldest: The number of the first event of the oldest row; 0 if there is no row.
    static func read(_ connection: SQLiteConnection, oldest: UInt64) throws(StoreError) -> Int64 {
        let known = try stored(in: connection, oldest: oldest)
        let rows = try connection.prepare("SELECT length(body) FROM log WHERE first > ?")
        defer { rows.reset() }
        rows.bind(1, known?.last ?? 0)
        var bytes = known?.bytes ?? 0
        while try rows.step() { bytes += rows.number(0) }
        return bytes
    }

    /// Returns the stored size; nil if there is none, or if rows were removed since by an earlier version, which does not
    /// store it.
    private static func stored(in connection: SQLiteConnection, oldest: UInt64) throws(StoreError) -> LogSize? {
        let find = try connection.prepare("SELECT value FROM meta WHERE name = 'log_size'")
        defer { find.reset() }
        guard try find.step() else { return nil }
        let size = unsafe find.withBlob(0) { bytes -> LogSize? in
            guard bytes.count == 24 else { return nil }
            return unsafe LogSize(
                oldest: bytes.word(at: 0), last: bytes.word(at: 8), bytes: Int64(bitPattern: bytes.word(at: 16)))
        }
        guard let size, size.oldest == oldest, size.last >= oldest, (0...(1 << 50)).contains(size.bytes) else {
            return nil
        }
        return size
    }

    /// Stores the size in the current transaction.
    func store(_ statement: SQLiteStatement) throws(StoreError) {
        statement.bind(1, [oldest, last, UInt64(bitPattern: bytes)])
        try statement.run()
    }
}
