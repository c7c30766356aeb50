import Glibc
// Threads, locks and blocking work are what loops are made of and come with them.
@_exported public import PushThread
// The times themselves are values that the floors below know too; reading a clock begins here.
@_exported public import PushTime

extension MonotonicTime {
    /// What the clock reads at this moment. On a loop prefer `EventLoop.now`, which is read once a tick.
    package static func current() -> MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}

extension WallTime {
    package static func current() -> WallTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
