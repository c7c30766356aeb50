import PushLoop

/// What signals have asked for and nobody has done yet. However often SIGHUP comes while one reload runs, one more
/// follows.
final class ServeSignals: Sendable {
    enum Wish: Sendable, Equatable {
        case reload, stop
    }

    private struct State {
        var reloads = false
        var stops = 0
        var waiter: CheckedContinuation<Wish, Never>?
    }

    private let state = Locked(State())
    /// Somebody does not want to wait for what is still to be done.
    private let insisted: @Sendable () -> Void

    init(insisted: @escaping @Sendable () -> Void) {
        self.insisted = insisted
    }

    func came(_ signal: Signal) {
        let (resume, insists) = state.withLock { state -> (CheckedContinuation<Wish, Never>?, Bool) in
            if signal == .hangUp { state.reloads = true } else { state.stops += 1 }
            return (state.waiter.take(), state.stops == 2 && signal != .hangUp)
        }
        if let resume { resume.resume(returning: take() ?? .stop) }
        if insists { insisted() }
    }

    var hasInsisted: Bool { state.withLock { $0.stops > 1 } }

    /// The next thing to do; to stop goes first. One caller at a time.
    func next() async -> Wish {
        await withCheckedContinuation { continuation in
            if let wish = take(orWait: continuation) { continuation.resume(returning: wish) }
        }
    }

    private func take(orWait waiter: CheckedContinuation<Wish, Never>? = nil) -> Wish? {
        state.withLock { state in
            if state.stops > 0 { return .stop }
            if state.reloads {
                state.reloads = false
                return .reload
            }
            state.waiter = waiter
            return nil
        }
    }
}
