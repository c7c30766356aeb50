import PushTime

/// The date of the log rows that were written while the wall clock was ahead. They age by it.
///
/// The time of a row stays as it is: the checksum covers it, and the times of the events are relative to it.
struct LogDate: Equatable {
    /// The number of the last event that has this date.
    let last: UInt64
    let time: WallTime

    /// Reads the date from the table `meta`; nil if there is none.
    ///
    /// - Parameter next: The number of the next event. A date of later events comes from a damaged file.
    static func read(_ connection: SQLiteConnection, next: UInt64) throws(StoreError) -> LogDate? {
        let find = try connection.prepare(
            "SELECT value, (SELECT value FROM meta WHERE name = 'log_date_last') FROM meta WHERE name = 'log_date'")
        defer { find.reset() }
        guard try find.step(), !find.isNull(1), find.word(1) < next else { return nil }
        return LogDate(last: find.word(1), time: find.time(0))
    }
}

extension LogDate? {
    /// Returns the time from which the row that begins with this number ages.
    func time(of first: UInt64, writtenAt time: WallTime) -> WallTime {
        guard let self, first <= self.last else { return time }
        return min(time, self.time)
    }
}

/// How long the oldest row of a table has been dated ahead of the wall clock.
///
/// A clock that is set back for some minutes and then right again must not change the date of any row: by that date, all
/// of them would expire too early.
struct RowsAhead {
    /// A row with a time further ahead than this was written while the wall clock was wrong, or is read while it is.
    static let tolerance: Duration = .seconds(3600)
    private var since: MonotonicTime?

    /// Returns whether the rows have been ahead for so long that they get the current time.
    mutating func mustBeDated(_ oldest: WallTime, at now: WallTime, steady: MonotonicTime) -> Bool {
        guard oldest > now + Self.tolerance else {
            since = nil
            return false
        }
        let since = since ?? steady
        self.since = since
        return steady - since >= AgeClock.patience
    }
}
