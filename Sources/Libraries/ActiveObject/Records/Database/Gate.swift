import PushThread

/// A counter of the calls inside a database. Once it is closed, no further call can enter.
final class Gate: Sendable {
    private enum Phase {
        /// Can transition to: closing.
        case open
        /// No call can enter. Calls may still be inside, or the connections are being closed. Can transition to:
        /// closed.
        case closing
        case closed
    }

    private struct State {
        var phase = Phase.open
        var inside = 0
        /// The first caller of `close` while it waits for the calls inside.
        var closer: CheckedContinuation<Void, Never>?
        /// Further callers of `close`, until it is done.
        var others: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// Returns false if the gate is closed. A call that entered must call `leave`.
    func enter() -> Bool {
        state.withLock { state in
            guard state.phase == .open else { return false }
            state.inside += 1
            return true
        }
    }

    func leave() {
        let closer: CheckedContinuation<Void, Never>? = state.withLock { state in
            state.inside -= 1
            guard state.inside == 0 else { return nil }
            return state.closer.take()
        }
        closer?.resume()
    }

    /// Closes the gate. The first caller waits until no call is inside and runs `body`; every caller returns after
    /// that.
    func close(_ body: () async -> Void) async {
        guard beginClosing() else {
            return await withCheckedContinuation { continuation in
                let isClosed = state.withLock { state in
                    guard state.phase != .closed else { return true }
                    state.others.append(continuation)
                    return false
                }
                if isClosed { continuation.resume() }
            }
        }
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                guard state.inside > 0 else { return true }
                state.closer = continuation
                return false
            }
            if isEmpty { continuation.resume() }
        }
        await body()
        let others = state.withLock { state in
            state.phase = .closed
            return exchange(&state.others, with: [])
        }
        for other in others { other.resume() }
    }

    /// Returns true for the first caller.
    func beginClosing() -> Bool {
        state.withLock { state in
            guard state.phase == .open else { return false }
            state.phase = .closing
            return true
        }
    }
}
