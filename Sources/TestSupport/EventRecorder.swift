import PushLoop

/// Collects what happens on any thread and lets a test wait for it without sleeping. Who waits for what never comes is
/// ended by the test's time limit: he gets what there is.
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
            // Each is asked once for each event: it may count as it goes.
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

    /// Everything recorded so far, as soon as it meets the condition.
    @discardableResult
    package func wait(until isMet: @escaping @Sendable ([Event]) -> Bool) async -> [Event] {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let events: [Event]? = state.withLock { state in
                    // Who was cancelled before has had the handler called, which found nobody.
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
