import PushLoop

/// Collects what happens on any thread and lets a test wait for it without sleeping. A test that waits for what never
/// comes is ended by its time limit.
package final class EventRecorder<Event: Sendable>: Sendable {
    private struct State {
        var events: [Event] = []
        var waiters: [(isMet: @Sendable ([Event]) -> Bool, resume: CheckedContinuation<[Event], Never>)] = []
    }

    private let state = Locked(State())

    package init() {}

    package var events: [Event] { state.withLock { $0.events } }

    package func record(_ event: Event) {
        let (met, events) = state.withLock { state in
            state.events.append(event)
            let events = state.events
            let met = state.waiters.filter { $0.isMet(events) }
            state.waiters.removeAll { $0.isMet(events) }
            return (met, events)
        }
        for waiter in met { waiter.resume.resume(returning: events) }
    }

    /// Everything recorded so far, as soon as it meets the condition.
    @discardableResult
    package func wait(until isMet: @escaping @Sendable ([Event]) -> Bool) async -> [Event] {
        await withCheckedContinuation { continuation in
            let events: [Event]? = state.withLock { state in
                if isMet(state.events) { return state.events }
                state.waiters.append((isMet, continuation))
                return nil
            }
            if let events { continuation.resume(returning: events) }
        }
    }

    @discardableResult
    package func wait(count: Int) async -> [Event] {
        await wait { $0.count >= count }
    }
}
