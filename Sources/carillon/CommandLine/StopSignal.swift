import PushLoop

/// Something that is asked for once and waited for once.
final class StopSignal: Sendable {
    private struct State {
        var isAsked = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    func ask() {
        let waiter = state.withLock { state in
            state.isAsked = true
            return state.waiter.take()
        }
        waiter?.resume()
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isAsked = state.withLock { state in
                if !state.isAsked { state.waiter = continuation }
                return state.isAsked
            }
            if isAsked { continuation.resume() }
        }
    }
}
