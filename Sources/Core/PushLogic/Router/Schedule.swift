import PushTime

/// The time at which the next scheduled message is due, and the request for due messages.
struct Schedule {
    /// The time at which the next scheduled message is due; nil if none is known.
    private(set) var nextDue: UnixSeconds?
    private var isRequested = false
    /// The earliest due time of a message that was accepted during the request. The answer may not account for it.
    private var acceptedMeanwhile: UnixSeconds?

    /// Records that a message is due at this time.
    mutating func note(_ time: UnixSeconds) {
        nextDue = nextDue.map { min($0, time) } ?? time
        if isRequested { acceptedMeanwhile = acceptedMeanwhile.map { min($0, time) } ?? time }
    }

    /// Returns whether due messages are to be requested.
    func isDue(at wall: WallTime) -> Bool {
        guard let nextDue, !isRequested else { return false }
        return nextDue <= wall.unixSeconds
    }

    /// Returns the time until messages are to be requested; nil if none are scheduled or a request is under way.
    func wait(at wall: WallTime) -> Duration? {
        guard let nextDue, !isRequested else { return nil }
        return .milliseconds(max(0, WallTime(nextDue).milliseconds(since: wall)))
    }

    /// Records that due messages were requested.
    mutating func beginRequest() {
        isRequested = true
        acceptedMeanwhile = nil
    }

    /// Records that the request failed. Another one may follow.
    mutating func requestFailed() { isRequested = false }

    /// Takes the answer to the request: the time of the next message that is not due.
    mutating func requestAnswered(next: UnixSeconds?) {
        isRequested = false
        nextDue = next
        if let acceptedMeanwhile { note(acceptedMeanwhile) }
    }
}
