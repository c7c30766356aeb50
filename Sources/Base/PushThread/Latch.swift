/// An event that happens once and that one task waits for.
package final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    package init() {}

    /// Lets the waiting task continue. Further calls have no effect.
    package func open() {
        let waiter = state.withLock { state in
            state.isOpen = true
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Returns when the latch is open.
    package func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiter = continuation }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}
