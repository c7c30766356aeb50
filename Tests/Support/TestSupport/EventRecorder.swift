import PushLoop

/// A recorder that collects events from any thread and lets a test wait for them without sleeping. If the condition is
/// never met, the test's time limit cancels the wait, which then returns the events recorded so far.
package final class EventRecorder<Event: Sendable>: Sendable {
    private struct Waiter {
        let number: Int
        let isMet: @Sendable ([Event]) -> Bool
        let continuation: CheckedContinuation<[Event], Never>
    }

    private struct State {
        var events: [Event] = []
        var waiters: [Waiter] = []
        var nextNumber = 0
    }

    private let state = Locked(State())

    package init() {}

    package var events: [Event] { state.withLock { $0.events } }

    package func record(_ event: Event) {
        let (met, events) = state.withLock { state in
            state.events.append(event)
            let events = state.events
            guard !state.waiters.isEmpty else { return ([Waiter](), events) }
            // The condition is evaluated exactly once per event, because it may count.
            var met: [Waiter] = []
            state.waiters.removeAll { waiter in
                guard waiter.isMet(events) else { return false }
                met.append(waiter)
                return true
            }
            return (met, events)
        }
        for waiter in met { waiter.continuation.resume(returning: events) }
    }

    /// Waits until the recorded events meet the condition, and returns all of them.
    @discardableResult
    package func wait(until isMet: @escaping @Sendable ([Event]) -> Bool) async -> [Event] {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let events: [Event]? = state.withLock { state in
                    // A task that was canceled earlier has already run the cancellation handler, which did not find
                    // this waiter.
                    if Task.isCancelled || isMet(state.events) { return state.events }
                    state.waiters.append(Waiter(number: number, isMet: isMet, continuation: continuation))
                    return nil
                }
                if let events { continuation.resume(returning: events) }
            }
        } onCancel: {
            let (waiter, events) = state.withLock { state in
                let index = state.waiters.firstIndex { $0.number == number }
                return (index.map { state.waiters.remove(at: $0) }, state.events)
            }
            waiter?.continuation.resume(returning: events)
        }
    }

    @discardableResult
    package func wait(count: Int) async -> [Event] {
        await wait { $0.count >= count }
    }
}
