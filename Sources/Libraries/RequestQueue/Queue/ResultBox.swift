/// A result that arrives once, for any number of tasks that wait for it.
final class ResultBox<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [UInt64: CheckedContinuation<Value?, Never>] = [:]
        var nextWaiter: UInt64 = 0
        var cancelled: Set<UInt64> = []
    }

    private let state = Locked(State())

    /// Sets the result. Later results have no effect.
    func set(_ value: Value) {
        let waiters = state.withLock { state in
            guard state.value == nil else { return [CheckedContinuation<Value?, Never>]() }
            state.value = value
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: value) }
    }

    /// Waits for the result; nil if the waiting task was cancelled before.
    func get() async -> Value? {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready: Value?? = state.withLock { state in
                    if let value = state.value { return .some(value) }
                    if state.cancelled.remove(number) != nil { return .some(nil) }
                    state.waiters[number] = continuation
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: number)
                if waiter == nil && state.value == nil { state.cancelled.insert(number) }
                return waiter
            }
            waiter?.resume(returning: nil)
        }
    }
}
