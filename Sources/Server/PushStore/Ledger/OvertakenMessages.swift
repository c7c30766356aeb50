import PushTime

/// Scheduled messages that are due before others which were already handed out. They are accepted after a clock that
/// was ahead has been set back, and wait for their time like all others.
struct OvertakenMessages {
    /// Sorted with the latest first if `isSorted`.
    private var messages: [(due: UnixSeconds, seq: UInt64)] = []
    private var isSorted = true

    mutating func add(_ seq: UInt64, due: UnixSeconds) {
        messages.append((due, seq))
        isSorted = messages.count == 1
    }

    /// The time at which the next message is due.
    var nextDue: UnixSeconds? {
        mutating get {
            sort()
            return messages.last?.due
        }
    }

    /// Removes and returns the next message that is due at `time`.
    mutating func next(at time: UnixSeconds) -> UInt64? {
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
