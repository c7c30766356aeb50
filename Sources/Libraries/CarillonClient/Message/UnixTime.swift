import PushLoop
import PushTime

/// A time of the wall clock in whole seconds since 1970, as the push service counts.
///
/// `UnixTime.now + .seconds(3600)` is in an hour. From Foundation: `UnixTime(Int64(date.timeIntervalSince1970))`.
public struct UnixTime: Sendable, Hashable, Comparable, ExpressibleByIntegerLiteral {
    /// The seconds since 1970-01-01T00:00:00Z.
    public var seconds: Int64

    /// Creates a time from the seconds since 1970-01-01T00:00:00Z.
    public init(_ seconds: Int64) { self.seconds = seconds }

    /// Creates a time from the seconds since 1970-01-01T00:00:00Z.
    public init(integerLiteral seconds: Int64) { self.seconds = seconds }

    /// The current time.
    public static var now: UnixTime { UnixTime(WallTime.current().seconds) }

    /// Whether a time is before another one.
    public static func < (one: UnixTime, other: UnixTime) -> Bool { one.seconds < other.seconds }

    /// Returns a later time, by the whole seconds of the duration.
    public static func + (time: UnixTime, duration: Duration) -> UnixTime {
        UnixTime((UnixSeconds(time.seconds) + duration).value)
    }
}
