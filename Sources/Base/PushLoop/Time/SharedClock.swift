import PushTime
import Synchronization

/// The time that all nodes of a cluster share. On a single node, the time of the machine.
///
/// In a cluster, the clock of the machine is asked once, at the first reading of the database's clock. From then on the
/// time passes as the monotonic clock does, and follows the database. A step of the machine's clock changes nothing, also
/// if it sets a wrong clock right.
package final class SharedClock: Sendable {
    /// Differences up to this are those of clocks that are kept in step, and of the network.
    private static let tolerance = Duration.seconds(1)
    private static let unknown = Int64.min

    /// The shared time at which this machine was started, in milliseconds.
    private let start = Atomic<Int64>(SharedClock.unknown)
    private let wall: @Sendable () -> WallTime
    private let sinceBoot: @Sendable () -> MonotonicTime

    package init(
        wall: @escaping @Sendable () -> WallTime = { .current() },
        sinceBoot: @escaping @Sendable () -> MonotonicTime = { .sinceBoot() }
    ) {
        self.wall = wall
        self.sinceBoot = sinceBoot
    }

    /// Takes a reading of the database's clock.
    package func observed(_ reading: ClockReading) {
        let known = time(at: reading.taken)
        let difference = reading.time.milliseconds(since: known)
        let limit = max(Self.tolerance, reading.error).wholeMilliseconds
        let isWrong = difference > limit || difference < -limit
        let time = isWrong ? reading.time : known
        start.store(time.milliseconds(since: Self.wall(reading.taken)), ordering: .relaxed)
    }

    package var now: WallTime {
        let start = start.load(ordering: .relaxed)
        return start == Self.unknown ? wall() : Self.wall(sinceBoot()).adding(milliseconds: start)
    }

    /// Returns what this clock showed at a time of ``MonotonicTime/sinceBoot()``.
    private func time(at then: MonotonicTime) -> WallTime {
        let start = start.load(ordering: .relaxed)
        return start == Self.unknown ? wall() + (then - sinceBoot()) : Self.wall(then).adding(milliseconds: start)
    }

    /// Returns the time of a clock that began when the machine was started.
    private static func wall(_ time: MonotonicTime) -> WallTime {
        WallTime(milliseconds: time.nanoseconds / 1_000_000)
    }
}

/// A reading of the clock of the database.
package struct ClockReading: Sendable {
    package let time: WallTime
    /// When it was taken, by ``MonotonicTime/sinceBoot()``.
    package let taken: MonotonicTime
    /// The time that the reading took. It was taken at some moment of it.
    package let error: Duration

    /// - Parameters:
    ///   - sent: The time of ``MonotonicTime/sinceBoot()`` before the database was asked.
    ///   - received: The time of ``MonotonicTime/sinceBoot()`` when the answer had arrived.
    package init(_ time: WallTime, sent: MonotonicTime, received: MonotonicTime) {
        self.time = time
        error = max(.zero, received - sent)
        taken = sent + error / 2
    }
}
