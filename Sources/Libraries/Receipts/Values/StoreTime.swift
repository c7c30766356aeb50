import Glibc

/// A time in App Store data: milliseconds since 1970, UTC.
public struct StoreTime: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The milliseconds since 1970.
    public let milliseconds: Int64

    /// Creates a time.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Returns the current time.
    public static func now() -> StoreTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return StoreTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// The milliseconds, as a decimal number.
    public var description: String { "\(milliseconds)" }

    /// Returns whether one time is before another.
    public static func < (left: StoreTime, right: StoreTime) -> Bool { left.milliseconds < right.milliseconds }
}
