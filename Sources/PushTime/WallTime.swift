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

    package var seconds: Int64 { milliseconds / 1000 }

    package static func < (left: WallTime, right: WallTime) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
