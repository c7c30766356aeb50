/// Waits as long as a condition holds. It has no bound of its own: the test's `WaitTrait` cancels it, and it then returns.
package func wait(while isWaiting: @autoclosure () async throws -> Bool) async rethrows {
    _ = try await wait(for: { try await isWaiting() }, until: { !$0 })
}

/// Looks again and again until what it sees meets a condition, and returns it; the last one if the test's `WaitTrait` ends
/// the wait.
@discardableResult
package func wait<Value>(
    for look: () async throws -> Value, until isMet: (Value) throws -> Bool
) async rethrows -> Value {
    var looks = 0
    while true {
        let begun = ContinuousClock.now
        let value = try await look()
        if try isMet(value) || Task.isCancelled { return value }
        looks += 1
        // A state that is a few steps away comes without a pause. After that, and after a look that costs much, such as
        // one with a process of its own, a test must leave the processor to what it waits for.
        let cost = ContinuousClock.now - begun
        if looks < 20, cost < .milliseconds(5) {
            await Task.yield()
        } else {
            try? await Task.sleep(for: min(max(.milliseconds(looks / 10), cost), .milliseconds(20)))
        }
    }
}

/// Lets other tasks run, as between two actions of a slow peer. Nothing may depend on its length.
package func pace() async {
    await Task.yield()
}

/// Waits until the task is cancelled: for operations that must meet a cancelled task.
package func waitForCancellation() async {
    while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
}
