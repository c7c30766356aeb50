/// The text forms of times and values, without Foundation and without an allocation while a line is built.
extension WallTime {
    /// The time in UTC, as in `2026-03-01T09:30:00.250Z`.
    package var iso8601: String {
        var line = LogLine(limit: 32)
        line.append(time: self)
        return line.text
    }

    /// Converts days since 1970-01-01 to a date of the Gregorian calendar. It counts eras of 400 years from 0000-03-01,
    /// so that a leap day is the last day of its year.
    static func date(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
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

extension LogValue {
    /// The value for human readers: durations and sizes have units, and nothing is escaped yet.
    var plainText: String {
        switch self {
        case .string(let text): text
        case .int(let number): String(number)
        case .uint(let number): String(number)
        case .double(let number): String(number)
        case .bool(let flag): flag ? "true" : "false"
        case .duration(let duration): Self.plainText(of: duration)
        case .bytes(let count): "\(count) B"
        case .time(let time): time.iso8601
        case .list(let values): "[" + values.map(\.plainText).joined(separator: ", ") + "]"
        }
    }

    /// Returns the duration in the unit that fits, rounded to one decimal.
    private static func plainText(of duration: Duration) -> String {
        let nanoseconds = duration.wholeNanoseconds
        let size = nanoseconds.magnitude
        if size < 1000 { return "\(nanoseconds)ns" }
        if size < 1_000_000 { return "\(rounded(Double(nanoseconds) / 1e3))us" }
        if size < 1_000_000_000 { return "\(rounded(Double(nanoseconds) / 1e6))ms" }
        return "\(rounded(Double(nanoseconds) / 1e9))s"
    }

    private static func rounded(_ number: Double) -> String {
        let tenths = (number * 10).rounded() / 10
        return tenths == tenths.rounded() ? String(Int64(tenths)) : String(tenths)
    }
}
