/// Rows of keys that are older than the window and are still needed: each waits for one message, or for one row of
/// messages, and is looked at again when that is done. To read all of them again and again would cost the more, the more
/// messages wait.
struct PinnedKeys {
    /// By what they wait for: the number of a message, or the first number of a row of messages.
    private var rows: [UInt64: [UInt64]] = [:]
    /// Those that wait for nothing that is known, and may go.
    private var released: [UInt64] = []

    mutating func pin(_ row: UInt64, until message: UInt64) { rows[message, default: []].append(row) }

    /// This message, or the last one of the row that begins with it, is done.
    mutating func release(_ message: UInt64) {
        if rows.isEmpty { return }
        if let free = rows.removeValue(forKey: message) { released += free }
    }

    /// A row to look at again.
    mutating func next() -> UInt64? { released.popLast() }

    mutating func removeAll() {
        rows = [:]
        released = []
    }
}
