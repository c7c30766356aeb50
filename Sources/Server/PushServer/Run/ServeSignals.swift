import PushLoop

/// The requests of signals that are not handled yet. Any number of SIGHUPs during a reload cause one more reload.
final class ServeSignals: Sendable {
    enum Request: Sendable, Equatable {
        case reload, stop
    }

    private struct State {
        var reloads = false
        var stops = 0
        var isHalted = false
        var waiter: CheckedContinuation<Request, Never>?
    }

    private let state = Locked(State())
    /// Called at the second signal to stop.
    private let insisted: @Sendable () -> Void

    init(insisted: @escaping @Sendable () -> Void) {
        self.insisted = insisted
    }

    func received(_ signal: Signal) {
        let (resume, insists) = state.withLock { state -> (CheckedContinuation<Request, Never>?, Bool) in
            if signal == .hangUp { state.reloads = true } else { state.stops += 1 }
            return (state.waiter.take(), state.stops == 2 && signal != .hangUp)
        }
        if let resume { resume.resume(returning: take() ?? .stop) }
        if insists { insisted() }
    }

    /// Asks to stop because the server cannot continue. It does not count as a signal: one SIGTERM beside it insists on
    /// nothing.
    func halt() {
        let waiter = state.withLock { state -> CheckedContinuation<Request, Never>? in
            state.isHalted = true
            return state.waiter.take()
        }
        waiter?.resume(returning: .stop)
    }

    var hasHalted: Bool { state.withLock { $0.isHalted } }

    var hasInsisted: Bool { state.withLock { $0.stops > 1 } }

    /// Returns the next request; a stop precedes reloads. Only one caller may wait at a time.
    func next() async -> Request {
        await withCheckedContinuation { continuation in
            if let wish = take(orWait: continuation) { continuation.resume(returning: wish) }
        }
    }

    private func take(orWait waiter: CheckedContinuation<Request, Never>? = nil) -> Request? {
        state.withLock { state in
            if state.stops > 0 || state.isHalted { return .stop }
            if state.reloads {
                state.reloads = false
                return .reload
            }
            state.waiter = waiter
            return nil
        }
    }
}
