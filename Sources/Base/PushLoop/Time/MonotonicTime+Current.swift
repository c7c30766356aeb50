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

    /// Returns the time of the monotonic clock at the last tick of the kernel, some milliseconds ago at most. It costs a
    /// few nanoseconds.
    package static func coarse() -> MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Returns the current time of the clock that also counts the time for which the machine was suspended. The right to
    /// send of a node in a cluster is counted by it. Its times cannot be compared with those of ``current()``.
    package static func sinceBoot() -> MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
