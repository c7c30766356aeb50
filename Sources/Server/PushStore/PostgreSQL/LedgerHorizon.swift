import PushTime

/// The first day of the table `groups` and the first hour of the table `bodies` that a part needs. Older partitions of
/// the tables may be dropped at any time, so that nothing is written into them, also if the clock goes back.
struct LedgerHorizon {
    var day: Int32 = 0
    var hour: Int32 = 0

    /// Returns the day whose partition takes the groups of a time.
    static func day(of time: WallTime) -> Int32 { Int32(clamping: time.milliseconds / 86_400_000) }

    /// Returns the hour whose partition takes the bodies of a time.
    static func hour(of time: WallTime) -> Int32 { Int32(clamping: time.milliseconds / 3_600_000) }

    /// The time at which the first of these partitions begins.
    var time: WallTime { WallTime(milliseconds: max(24 * Int64(day), Int64(hour)) * 3_600_000) }
}
