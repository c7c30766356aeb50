import PushLoop

/// The acks that producers have no room for, and their next attempt.
struct DelayedAcks {
    static let minDelay = Duration.milliseconds(5)
    static let maxDelay = Duration.milliseconds(160)

    var waiting: WaitingAcks
    var timer: TimerID?
    var delay = Self.minDelay

    init(waiting: WaitingAcks) {
        self.waiting = waiting
    }
}
