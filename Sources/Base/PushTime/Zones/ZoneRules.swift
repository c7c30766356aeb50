/// The clock of one time zone: by how many seconds it is ahead of UTC, and since when.
package struct ZoneRules: Hashable, Sendable {
    /// The first seconds of the periods after the first one, ascending, and how far the clock is ahead in each.
    let starts: [Int64]
    let offsets: [Int64]
    /// How far it is ahead before the first of them.
    let first: Int64
    /// What holds after the last of them; nil if the last one holds for ever.
    let rule: YearlyRule?

    /// The largest distance of a clock from UTC.
    static let maxOffset: Int64 = 26 * 3600

    private struct Period {
        let start: Int64
        let offset: Int64
    }

    /// Returns the first second at which the clock shows this time or a later one: the end of the gap if the clock skips
    /// the time, and the first of both if the clock shows it twice.
    package func instant(of local: LocalTime) -> UnixSeconds {
        let periods = periods(from: local.seconds - Self.maxOffset, to: local.seconds + Self.maxOffset)
        for (index, period) in periods.enumerated() {
            let instant = max(period.start, local.seconds - period.offset)
            if index + 1 == periods.count || instant < periods[index + 1].start { return UnixSeconds(instant) }
        }
        return UnixSeconds(local.seconds)
    }

    /// Returns the periods of a span. The first one begins at the start of the span.
    private func periods(from start: Int64, to end: Int64) -> [Period] {
        var periods = [Period(start: start, offset: first)]
        func add(_ time: Int64, _ offset: Int64) {
            if time > end { return }
            if time <= start { periods = [] }
            periods.append(Period(start: max(time, start), offset: offset))
        }
        var (low, high) = (0, starts.count)
        while low < high {
            let middle = (low + high) / 2
            if starts[middle] <= start { low = middle + 1 } else { high = middle }
        }
        for index in max(0, low - 1)..<max(0, low - 1, starts.count) {
            if starts[index] > end { break }
            add(starts[index], offsets[index])
        }
        guard let rule, starts.last.map({ $0 <= end }) ?? true else { return periods }
        if starts.isEmpty { add(start, rule.standard) }
        for (time, offset) in rule.changes(from: start, to: end) where starts.last.map({ time > $0 }) ?? true {
            add(time, offset)
        }
        return periods
    }
}

/// The rule by which a clock changes each year, as POSIX writes it in TZ.
struct YearlyRule: Hashable, Sendable {
    /// How far the clock is ahead of UTC in winter.
    let standard: Int64
    let summer: Summer?

    struct Summer: Hashable, Sendable {
        let offset: Int64
        let begin: Day
        let end: Day
    }

    /// A day of each year, and the time of day on the clock before the change.
    struct Day: Hashable, Sendable {
        enum Form: Hashable, Sendable {
            /// The days from 1 to 365. February 29 is not counted.
            case withoutLeapDay(Int64)
            /// The days from 0 to 365.
            case ofYear(Int64)
            /// A weekday of a month; the week 5 is the last one.
            case weekday(month: Int64, week: Int64, day: Int64)
        }

        let form: Form
        let time: Int64

        /// Returns the second on the clock.
        func second(of year: Int64) -> Int64 {
            let january = CivilDate.days(to: 1, of: 1, in: year)
            let day =
                switch form {
                case .withoutLeapDay(let number): january + number - 1 + (CivilDate.isLeap(year) && number > 59 ? 1 : 0)
                case .ofYear(let number): january + number
                case .weekday(let month, let week, let weekday): Self.day(weekday, in: week, of: month, in: year)
                }
            return day * 86_400 + time
        }

        private static func day(_ weekday: Int64, in week: Int64, of month: Int64, in year: Int64) -> Int64 {
            let first = CivilDate.days(to: 1, of: month, in: year)
            // 1970-01-01 was a Thursday.
            let weekdayOfFirst = ((first + 4) % 7 + 7) % 7
            var day = first + (weekday - weekdayOfFirst + 7) % 7 + (week - 1) * 7
            if day >= first + CivilDate.days(in: month, of: year) { day -= 7 }
            return day
        }
    }

    /// Returns the changes of a span and the one before it, ascending.
    func changes(from start: Int64, to end: Int64) -> [(time: Int64, offset: Int64)] {
        guard let summer else { return [(start, standard)] }
        let years = CivilDate.year(of: start / 86_400) - 1...CivilDate.year(of: end / 86_400) + 1
        var changes: [(time: Int64, offset: Int64)] = []
        for year in years {
            // Of two at one time, that to summer is the last: then the clock is always ahead.
            changes.append((summer.end.second(of: year) - summer.offset, standard))
            changes.append((summer.begin.second(of: year) - standard, summer.offset))
        }
        let sorted = changes.enumerated().sorted { ($0.element.time, $0.offset % 2) < ($1.element.time, $1.offset % 2) }
        return sorted.map(\.element)
    }
}
