import PushTime
import Synchronization

/// The time that all nodes of a cluster share: the time of this machine, corrected if it differs from that of the database
/// by more than a second. On a single node, the time of the machine.
package final class SharedClock: Sendable {
    /// Differences up to this are those of clocks that are kept in step, and of the network.
    private static let tolerance = Duration.seconds(1)

    /// Milliseconds to add to the time of this machine.
    private let correction = Atomic<Int64>(0)

    package init() {}

    /// Takes a reading of the database: its time minus that of this machine, which is known to `error`.
    package func observed(_ offset: Duration, error: Duration) {
        let isWrong = max(offset, .zero - offset) > max(Self.tolerance, error)
        correction.store(isWrong ? offset.wholeMilliseconds : 0, ordering: .relaxed)
    }

    package var now: WallTime { .current().adding(milliseconds: correction.load(ordering: .relaxed)) }
}
