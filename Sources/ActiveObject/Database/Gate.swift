import PushThread

/// Counts who is inside and lets nobody in any more once it is closed.
final class Gate: Sendable {
    private enum Phase {
        /// Can transition to: closing.
        case open
        /// Nobody comes in; some may still be inside, or what lies behind is being put away. Can transition to: closed.
        case closing
        case closed
    }

    private struct State {
        var phase = Phase.open
        var inside = 0
        /// Who closes, until everybody is out.
        var closer: CheckedContinuation<Void, Never>?
        /// Who came to close it as well, until that is done.
        var others: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// False: it is closed. Who got in has to `leave`.
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

    /// For the first: lets nobody in, waits until everybody is out, runs `body`. Returns for all when that is done.
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

    /// True for the first who closes it.
    func beginClosing() -> Bool {
        state.withLock { state in
            guard state.phase == .open else { return false }
            state.phase = .closing
            return true
        }
    }
}
