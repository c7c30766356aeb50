import Synchronization

/// A counter. It is thread-safe and costs one atomic addition.
package final class Counter: Sendable {
    private let total = Atomic<UInt64>(0)

    init() {}

    package func increment() {
        total.wrappingAdd(1, ordering: .relaxed)
    }

    package func increment(by amount: Int) {
        precondition(amount >= 0, "a counter cannot decrease by \(-amount); use a gauge")
        total.wrappingAdd(UInt64(amount), ordering: .relaxed)
    }

    package var value: UInt64 { total.load(ordering: .relaxed) }
}
