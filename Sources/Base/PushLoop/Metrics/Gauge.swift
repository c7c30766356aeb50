import Synchronization

/// A gauge. It is thread-safe and costs one atomic operation.
package final class Gauge: Sendable {
    private let level = Atomic<Int64>(0)

    init() {}

    package func set(_ value: Int) {
        level.store(Int64(value), ordering: .relaxed)
    }

    package func add(_ amount: Int) {
        level.wrappingAdd(Int64(amount), ordering: .relaxed)
    }

    package func subtract(_ amount: Int) {
        level.wrappingSubtract(Int64(amount), ordering: .relaxed)
    }

    package var value: Int64 { level.load(ordering: .relaxed) }
}
