package import PushTime

/// A time of the server: microseconds since 2000-01-01T00:00:00Z, as `timestamptz` stores it.
package struct PostgreSQLTimestamp: Hashable, Comparable, Sendable {
    package let microseconds: Int64

    /// 2000-01-01T00:00:00Z in milliseconds since 1970.
    private static let epoch: Int64 = 946_684_800_000

    package init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Creates the timestamp of a time. Times beyond the range of the type become `infinity` and `-infinity`.
    package init(_ time: WallTime) {
        let (milliseconds, overflow) = time.milliseconds.subtractingReportingOverflow(Self.epoch)
        let (microseconds, overflows) = milliseconds.multipliedReportingOverflow(by: 1000)
        self.microseconds = overflow || overflows ? (time.milliseconds < 0 ? .min : .max) : microseconds
    }

    /// The time, rounded toward the past.
    package var wallTime: WallTime {
        switch microseconds {
        case .max: .distantFuture
        case .min: .distantPast
        default:
            WallTime(milliseconds: Self.epoch).adding(
                milliseconds: microseconds / 1000 - (microseconds % 1000 < 0 ? 1 : 0))
        }
    }

    package static func < (left: PostgreSQLTimestamp, right: PostgreSQLTimestamp) -> Bool {
        left.microseconds < right.microseconds
    }
}
