/// A time of the wall clock, for output to people and other machines. Deadlines and ages use ``MonotonicTime``.
package struct WallTime: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    package let milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// - Parameter seconds: Seconds since 1970. Values beyond any real clock saturate at a quarter of the 64-bit range
    ///   of milliseconds, so that a duration can be added.
    package init(seconds: Int64) {
        milliseconds = max(-Self.maxSeconds, min(seconds, Self.maxSeconds)) * 1000
    }

    private static let maxSeconds = Int64.max / 4000

    package init(_ seconds: UnixSeconds) {
        self.init(seconds: seconds.value)
    }

    package var seconds: Int64 { milliseconds / 1000 }

    /// The time in whole seconds, rounded toward the past for all times since 1970.
    package var unixSeconds: UnixSeconds { UnixSeconds(seconds) }

    package static let distantPast = WallTime(milliseconds: .min)
    package static let distantFuture = WallTime(milliseconds: .max)

    package static func < (left: WallTime, right: WallTime) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Returns a later time, which saturates at ``distantFuture``.
    package static func + (time: WallTime, duration: Duration) -> WallTime {
        time.adding(milliseconds: duration.wholeMilliseconds)
    }

    /// Returns an earlier time, which saturates at ``distantPast``.
    package static func - (time: WallTime, duration: Duration) -> WallTime {
        time.adding(milliseconds: 0 - max(duration.wholeMilliseconds, -.max))
    }

    package func adding(milliseconds duration: Int64) -> WallTime {
        let (sum, overflow) = milliseconds.addingReportingOverflow(duration)
        return WallTime(milliseconds: overflow ? (duration < 0 ? .min : .max) : sum)
    }

    /// Returns the milliseconds from an earlier time to this one, saturating; negative if `earlier` is later.
    package func milliseconds(since earlier: WallTime) -> Int64 {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        return overflow ? (milliseconds < 0 ? .min : .max) : difference
    }
}

/// In JSON and in columns of a database, a time is the number of milliseconds since 1970.
extension WallTime: RawRepresentable, Codable {
    package init(rawValue: Int64) {
        self.init(milliseconds: rawValue)
    }

    package var rawValue: Int64 { milliseconds }
}

/// For queries and tables that machines read. Text for people uses dates.
extension WallTime: CustomStringConvertible {
    package var description: String { "\(milliseconds)" }
}
