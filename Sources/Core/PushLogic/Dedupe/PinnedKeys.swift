/// Rows of keys that are older than the dedupe window but still needed. Each waits for one message, or one row of
/// messages, and is examined again when that is done. To read all of them in each trim would be expensive when many
/// messages wait.
struct PinnedKeys: Equatable {
    /// The rows by what they wait for: the number of a message, or the first number of a row of messages.
    private var rows: [UInt64: [UInt64]] = [:]
    /// Rows that no longer wait for a known message, and are to be examined again.
    private var released: [UInt64] = []

    mutating func pin(_ row: UInt64, until message: UInt64) { rows[message, default: []].append(row) }

    /// Whether no row waits for a message.
    var isEmpty: Bool { rows.isEmpty }

    /// Whether there are rows that are older than the window.
    var hasRows: Bool { !rows.isEmpty || !released.isEmpty }

    /// Releases the rows that wait for this message, or for the row of messages that begins with it.
    mutating func release(_ message: UInt64) {
        if rows.isEmpty { return }
        if let free = rows.removeValue(forKey: message) { released += free }
    }

    /// Returns a row to examine again.
    mutating func next() -> UInt64? { released.popLast() }

    mutating func removeAll() {
        rows = [:]
        released = []
    }
}
