import PushThread

/// Counts who is inside and lets nobody in any more once it is closed.
final class Gate: Sendable {
    private struct State {
        var inside = 0
        var isClosed = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())

    /// False: it is closed. Who got in has to `leave`.
    func enter() -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.inside += 1
            return true
        }
    }

    func leave() {
        let waiting = state.withLock { state -> [@Sendable () -> Void] in
            state.inside -= 1
            guard state.isClosed, state.inside == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for resume in waiting { resume() }
    }

    /// Returns when everybody is out. True for the first who closes it.
    func close() async -> Bool {
        await withCheckedContinuation { continuation in
            let (isFirst, isEmpty) = state.withLock { state in
                let isFirst = !state.isClosed
                state.isClosed = true
                if state.inside > 0 { state.waiting.append { continuation.resume(returning: isFirst) } }
                return (isFirst, state.inside == 0)
            }
            if isEmpty { continuation.resume(returning: isFirst) }
        }
    }
}
