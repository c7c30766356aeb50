/// The time source of a loop: the system clock, or a clock that a test advances.
package enum LoopClock: Sendable {
    case monotonic
    /// A clock that stands still until ``EventLoop/advance(by:)``. Descriptors work as usual.
    case manual(start: MonotonicTime = MonotonicTime(nanoseconds: 1_000_000_000_000))
}
