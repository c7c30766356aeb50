/// The life of intake.
enum IntakePhase {
    /// A call may arrive before the sockets are open. It is refused. Can transition to: open, stopping, closed.
    case new
    /// Requests are taken. Can transition to: stopping, closed.
    case open
    /// Requests are answered `busy`, until those before them are answered. Can transition to: closed.
    case stopping(waiters: [CheckedContinuation<Void, Never>])
    /// Final.
    case closed

    var isOpen: Bool { if case .open = self { true } else { false } }
    /// Whether no more requests are taken.
    var isEnding: Bool { !isOpen && !isNew }
    private var isNew: Bool { if case .new = self { true } else { false } }
    var isClosed: Bool { if case .closed = self { true } else { false } }

    mutating func stop() {
        if !isEnding { self = .stopping(waiters: []) }
    }

    /// Adds a caller of stop, which is resumed at the end.
    mutating func await(_ waiter: CheckedContinuation<Void, Never>) {
        guard case .stopping(var waiters) = self else { return waiter.resume() }
        waiters.append(waiter)
        self = .stopping(waiters: waiters)
    }

    /// Returns the callers that wait for the end.
    mutating func close() -> [CheckedContinuation<Void, Never>] {
        defer { self = .closed }
        if case .stopping(let waiters) = self { return waiters }
        return []
    }
}
