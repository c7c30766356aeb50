/// One timer of an owner with several deadlines, which the owner moves to the earliest of them. Confined to its loop.
///
/// The timer does not know its owner, and does not retain it while it is not armed. It need not be reset when it fires:
/// the loop recognizes timers that have fired.
package struct DeadlineTimer: ~Copyable {
    private var id: TimerID?

    package init() {}

    /// Returns the time at which the timer fires, or nil if it is not armed.
    package func deadline(on loop: EventLoop) -> MonotonicTime? {
        id.flatMap { loop.deadline(of: $0) }
    }

    package func isArmed(on loop: EventLoop) -> Bool {
        deadline(on: loop) != nil
    }

    /// Arms the timer. If it is armed, it moves to the new deadline and keeps its action.
    ///
    /// - Parameter action: The action of the timer. The expression is evaluated only if the timer was not armed, so
    ///   that a move does not allocate a closure.
    package mutating func arm(
        at deadline: MonotonicTime, on loop: EventLoop, action: @autoclosure () -> () -> Void
    ) {
        if let id, let current = loop.deadline(of: id) {
            if current != deadline { loop.reschedule(id, at: deadline) }
        } else {
            id = loop.schedule(at: deadline, action: action())
        }
    }

    /// Cancels the timer and releases its action.
    package mutating func disarm(on loop: EventLoop) {
        if let id = id.take() { loop.cancel(id) }
    }
}
