extension WallTime {
    /// The time in UTC, as in `2026-03-01T09:30:00.250Z`.
    package var iso8601: String {
        var line = LogLine(limit: 32)
        line.append(time: self)
        return line.text
    }

    /// Converts days since 1970-01-01 to a date of the Gregorian calendar. It counts eras of 400 years from 0000-03-01,
    /// so that a leap day is the last day of its year.
    package static func date(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
