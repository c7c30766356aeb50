import Glibc
// The time types are plain values that lower targets also use. Reading a clock is part of this module.
@_exported public import PushTime

extension MonotonicTime {
    /// Returns the current time of the monotonic clock. On a loop, prefer ``EventLoop/now``, which is read once per
    /// tick.
    package static func current() -> MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
