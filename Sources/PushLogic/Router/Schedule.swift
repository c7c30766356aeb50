import PushTime

/// The time at which the next scheduled message is due, and the request for due messages. All times are in seconds
/// since 1970.
struct Schedule {
    /// The time at which the next scheduled message is due; nil if none is known.
    private(set) var nextDue: Int64?
    private var isRequested = false
    /// The earliest due time of a message that was accepted during the request. The answer may not account for it.
    private var acceptedMeanwhile: Int64?

    /// Records that a message is due at this time.
    mutating func note(_ time: Int64) {
        nextDue = min(nextDue ?? .max, time)
        if isRequested { acceptedMeanwhile = min(acceptedMeanwhile ?? .max, time) }
    }

    /// Returns whether due messages are to be requested.
    func isDue(at wall: WallTime) -> Bool {
        guard let nextDue, !isRequested else { return false }
        return nextDue <= wall.seconds
    }

    /// Returns the time until messages are to be requested; nil if none are scheduled or a request is under way.
    func wait(at wall: WallTime) -> Duration? {
        guard let nextDue, !isRequested else { return nil }
        return .milliseconds(max(0, WallTime(seconds: nextDue).milliseconds - wall.milliseconds))
    }

    /// Records that due messages were requested.
    mutating func beginRequest() {
        isRequested = true
        acceptedMeanwhile = nil
    }

    /// Records that the request failed. Another one may follow.
    mutating func requestFailed() { isRequested = false }

    /// Takes the answer to the request: the time of the next message that is not due.
    mutating func requestAnswered(next: Int64?) {
        isRequested = false
        nextDue = next
        if let acceptedMeanwhile { note(acceptedMeanwhile) }
    }
}
