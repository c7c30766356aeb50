/// Carries a value that is confined to a loop through code that is not on it. Opening it elsewhere traps.
package final class LoopBound<Value>: @unchecked Sendable {
    // Unchecked: `value` is touched on the loop only, which every accessor asserts.
    package let loop: EventLoop
    private var value: Value

    /// On the loop.
    package init(_ value: Value, on loop: EventLoop) {
        loop.assertOnLoop()
        self.loop = loop
        self.value = value
    }

    /// On the loop.
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

    /// From anywhere: runs `work` on the loop with the value.
    package func with<Result: Sendable, Failure: Error>(
        _ work: @escaping @Sendable (Value) throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await loop.run { () throws(Failure) in try work(self.wrapped) }
    }
}
