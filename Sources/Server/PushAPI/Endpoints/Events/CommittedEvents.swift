import PushLoop
package import PushModel

/// Wakes the tasks that wait for events when newer ones are committed. Any thread may report commits; a report is
/// cheap.
package final class CommittedEvents: Sendable {
    private struct Waiter {
        let after: LogPosition
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var newest = LogPosition()
        var waiters: [UInt64: Waiter] = [:]
        var lastWaiter: UInt64 = 0
        /// The ids of waiters that ended before they were in `waiters`.
        var ended: Set<UInt64> = []
    }

    private let state = Locked(State())

    package init() {}

    /// The greatest number that was reported for each part.
    package var newest: LogPosition { state.withLock { $0.newest } }

    /// Reports that the events up to these numbers, each in its part, can be read.
    package func committed(upTo numbers: some Sequence<UInt64>) {
        let woken = state.withLock { state -> [Waiter] in
            for number in numbers { state.newest.raise(to: number) }
            guard !state.waiters.isEmpty else { return [] }
            let parts = numbers.map { EventNumber.shown($0).part }
            let woken = state.waiters.filter { waiter in
                parts.contains { waiter.value.after[$0] < state.newest[$0] }
            }
            for id in woken.keys { state.waiters[id] = nil }
            return Array(woken.values)
        }
        for waiter in woken { waiter.continuation.resume() }
    }

    /// Returns when an event after a place can be read, when the time is over, or when the task is cancelled. In a cluster,
    /// only events that this process has written end the wait.
    package func waitForEvents(after place: LogPosition, for time: Duration) async {
        let id = state.withLock { state -> UInt64? in
            if state.newest.isAhead(of: place) { return nil }
            state.lastWaiter += 1
            return state.lastWaiter
        }
        guard let id else { return }
        let timer = Task {
            // If this throws, the timer was cancelled because the wait is over.
            try await Task.sleep(for: time)
            end(id)
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.ended.remove(id) != nil || state.newest.isAhead(of: place) { return true }
                    state.waiters[id] = Waiter(after: place, continuation: continuation)
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

    /// The number of waiters, for tests.
    package var waiting: Int { state.withLock { $0.waiters.count } }
}
