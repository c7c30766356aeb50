/// A container that carries a value confined to a loop through code that runs elsewhere. Access outside of the loop
/// traps.
package final class LoopBound<Value>: @unchecked Sendable {
    // Unchecked: every accessor asserts that it runs on the loop.
    package let loop: EventLoop
    private var value: Value

    /// Wraps a value. On the loop.
    package init(_ value: Value, on loop: EventLoop) {
        loop.assertOnLoop()
        self.loop = loop
        self.value = value
    }

    /// The value. On the loop.
    package var wrapped: Value {
        get {
            loop.assertOnLoop()
            return value
        }
        set {
            loop.assertOnLoop()
            value = newValue
        }
    }

    /// Runs `work` with the value on the loop. Callable from any thread.
    package func with<Result: Sendable, Failure: Error>(
        _ work: @escaping @Sendable (Value) throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await loop.run { () throws(Failure) in try work(self.wrapped) }
    }
}
