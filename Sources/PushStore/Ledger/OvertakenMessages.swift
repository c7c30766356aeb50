/// Scheduled messages whose time lies before that of others that were handed out already: they came after the clock had
/// been set back, and wait for their time as the rest does.
struct OvertakenMessages {
    /// The latest first, unless something was added since the last look.
    private var messages: [(due: Int64, seq: UInt64)] = []
    private var isSorted = true

    mutating func add(_ seq: UInt64, due: Int64) {
        messages.append((due, seq))
        isSorted = messages.count == 1
    }

    /// When the next one is due.
    var nextDue: Int64? {
        mutating get {
            sort()
            return messages.last?.due
        }
    }

    /// The next one that is due at `time`.
    mutating func next(at time: Int64) -> UInt64? {
        sort()
        guard let last = messages.last, last.due <= time else { return nil }
        messages.removeLast()
        return last.seq
    }

    private mutating func sort() {
        if isSorted { return }
        messages.sort { ($0.due, $0.seq) > ($1.due, $1.seq) }
        isSorted = true
    }
}
