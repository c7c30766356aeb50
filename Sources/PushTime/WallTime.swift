/// Wall-clock time, for what people and other machines read. Deadlines and ages use `MonotonicTime`.
package struct WallTime: Hashable, Comparable, Sendable {
    /// Since 1970-01-01T00:00:00Z.
    package let milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package var seconds: Int64 { milliseconds / 1000 }

    package static func < (left: WallTime, right: WallTime) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
