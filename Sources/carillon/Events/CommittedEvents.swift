import PushLoop

/// Who knows when there are more events.
protocol EventWaiting: Sendable {
    /// Returns once an event numbered above `seq` can be read, or the time is over, or the task is cancelled.
    func waitForEvents(after seq: UInt64, for time: Duration) async
}

/// Wakes whoever waits for events when it is told of newer ones. Any thread may tell it; to tell is cheap.
final class CommittedEvents: EventWaiting {
    private struct Waiter {
        let after: UInt64
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var newest: UInt64 = 0
        var waiters: [UInt64: Waiter] = [:]
        var lastWaiter: UInt64 = 0
        /// Called off before it had begun to wait.
        var ended: Set<UInt64> = []
    }

    private let state = Locked(State())

    /// Events up to this number can be read.
    func committed(upTo seq: UInt64) {
        let woken = state.withLock { state -> [Waiter] in
            state.newest = max(state.newest, seq)
            guard !state.waiters.isEmpty else { return [] }
            let woken = state.waiters.filter { $0.value.after < state.newest }
            for id in woken.keys { state.waiters[id] = nil }
            return Array(woken.values)
        }
        for waiter in woken { waiter.continuation.resume() }
    }

    func waitForEvents(after seq: UInt64, for time: Duration) async {
        let id = state.withLock { state -> UInt64? in
            if state.newest > seq { return nil }
            state.lastWaiter += 1
            return state.lastWaiter
        }
        guard let id else { return }
        let timer = Task {
            // Thrown when it is cancelled: then nobody waits any more.
            try await Task.sleep(for: time)
            end(id)
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.ended.remove(id) != nil || state.newest > seq { return true }
                    state.waiters[id] = Waiter(after: seq, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            end(id)
        }
        timer.cancel()
        state.withLock { _ = $0.ended.remove(id) }
    }

    private func end(_ id: UInt64) {
        let waiter = state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: id)
            if waiter == nil { state.ended.insert(id) }
            return waiter
        }
        waiter?.continuation.resume()
    }

    /// For tests: how many wait.
    var waiting: Int { state.withLock { $0.waiters.count } }
}
