/// Where a loop takes its time from: the machine, or a test that turns the hands itself.
package enum LoopClock: Sendable {
    case monotonic
    /// Time stands still until `EventLoop.advance(by:)`. Descriptors are as live as ever.
    case manual(start: MonotonicTime = MonotonicTime(nanoseconds: 1_000_000_000_000))
}
