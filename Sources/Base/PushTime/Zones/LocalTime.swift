/// A date and a time of day as clocks on a wall show them, in no zone.
package struct LocalTime: Hashable, Sendable {
    /// The seconds since 1970-01-01T00:00 on the same clock.
    package let seconds: Int64

    package init(seconds: Int64) {
        self.seconds = seconds
    }

    /// Reads `2026-12-01T09:00`, with seconds or without. Returns nil for anything else, and for days that no calendar
    /// has.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 16 || bytes.count == 19 else { return nil }
        var numbers: [Int64] = [0]
        for (place, byte) in bytes.enumerated() {
            if let mark = Self.marks[place] {
                guard byte == mark else { return nil }
                numbers.append(0)
            } else {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int64(byte - UInt8(ascii: "0"))
            }
        }
        let (year, month, day) = (numbers[0], numbers[1], numbers[2])
        let (hour, minute, second) = (numbers[3], numbers[4], numbers.count > 5 ? numbers[5] : 0)
        guard year >= 1, (1...12).contains(month), (1...CivilDate.days(in: month, of: year)).contains(day), hour < 24,
            minute < 60, second < 60
        else { return nil }
        seconds = CivilDate.days(to: day, of: month, in: year) * 86_400 + hour * 3600 + minute * 60 + second
    }

    /// Whether a number of seconds is in the years that a text can express, so that it can be counted with.
    package static func isWithinYears(_ seconds: Int64) -> Bool {
        (CivilDate.days(to: 1, of: 1, in: 1) * 86_400..<CivilDate.days(to: 32, of: 12, in: 9999) * 86_400).contains(
            seconds)
    }

    private static let marks: [Int: UInt8] = [
        4: UInt8(ascii: "-"), 7: UInt8(ascii: "-"), 10: UInt8(ascii: "T"), 13: UInt8(ascii: ":"),
        16: UInt8(ascii: ":"),
    ]
}

/// The Gregorian calendar, in days since 1970-01-01.
enum CivilDate {
    static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Returns the number of days from 1970-01-01 to a day of the years from 1 to 9999.
    static func days(to day: Int64, of month: Int64, in year: Int64) -> Int64 {
        let before = year - 1
        let leaps = before / 4 - before / 100 + before / 400
        var days = before * 365 + leaps - 719_162 + day - 1
        for earlier in 1..<max(1, month) { days += Self.days(in: earlier, of: year) }
        return days
    }

    /// Returns the year of a day; days before the year 1 or after the year 9999 count to these.
    static func year(of day: Int64) -> Int64 {
        var (low, high) = (Int64(1), Int64(9999))
        while low < high {
            let middle = (low + high + 1) / 2
            if days(to: 1, of: 1, in: middle) <= day { low = middle } else { high = middle - 1 }
        }
        return low
    }
}

extension LocalTime: CustomStringConvertible {
    /// The time as ``init(_:)`` reads it, with seconds only if there are some.
    package var description: String {
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let year = CivilDate.year(of: days)
        var (month, day) = (Int64(1), days - CivilDate.days(to: 1, of: 1, in: year))
        while month < 12, day >= CivilDate.days(in: month, of: year) {
            day -= CivilDate.days(in: month, of: year)
            month += 1
        }
        let second = seconds - days * 86_400
        func padded(_ number: Int64, to count: Int) -> String {
            let text = "\(number)"
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let date = "\(padded(year, to: 4))-\(padded(month, to: 2))-\(padded(day + 1, to: 2))"
        let time = "\(padded(second / 3600, to: 2)):\(padded(second / 60 % 60, to: 2))"
        return "\(date)T\(time)" + (second % 60 == 0 ? "" : ":\(padded(second % 60, to: 2))")
    }
}
