import Synchronization

/// The time until which this process may send notifications: without a limit on a single node, and the deadline of its
/// lease in a cluster. Gateways look at it right before they write.
package final class SendingPermit: Sendable {
    /// Nanoseconds of ``MonotonicTime/sinceBoot()``; `Int64.max` for no limit.
    private let limit: Atomic<Int64>

    /// Creates a permit without a limit.
    package init() { limit = Atomic(.max) }

    /// Creates a permit that ends at a time of ``MonotonicTime/sinceBoot()``.
    package init(until end: MonotonicTime) { limit = Atomic(end.nanoseconds) }

    /// Sets the end. It may also be earlier than the one before.
    package func end(at end: MonotonicTime) { limit.store(end.nanoseconds, ordering: .relaxed) }

    /// Whether the process may send now. Reads a clock only if there is a limit.
    package var isValid: Bool {
        let limit = limit.load(ordering: .relaxed)
        return limit == .max || MonotonicTime.sinceBoot().nanoseconds < limit
    }
}
