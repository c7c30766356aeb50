import PushLoop

/// The deadline of a connection, which moves with every request. Moving it later costs nothing: the timer stays, and is
/// set again when it fires.
struct HTTP1Deadline: ~Copyable {
    /// What the timer finds when it fires.
    enum Firing {
        case due
        /// The deadline has moved. Set it again.
        case early(MonotonicTime)
        /// There is no deadline.
        case idle
    }

    private(set) var time: MonotonicTime?
    private var timer = DeadlineTimer()
    /// The time at which the timer fires, which is not after `time`.
    private var fires: MonotonicTime?

    mutating func set(_ time: MonotonicTime, on loop: EventLoop, action: @autoclosure () -> () -> Void) {
        self.time = time
        if let fires, fires <= time { return }
        fires = time
        timer.arm(at: time, on: loop, action: action())
    }

    /// Removes the deadline. The timer may still fire, and then finds none.
    mutating func clear() {
        time = nil
    }

    /// Notes that the timer has fired.
    mutating func timerFired(at now: MonotonicTime) -> Firing {
        fires = nil
        guard let time else { return .idle }
        if time > now { return .early(time) }
        self.time = nil
        return .due
    }

    mutating func disarm(on loop: EventLoop) {
        time = nil
        fires = nil
        timer.disarm(on: loop)
    }
}
