import PushLoop
import PushTime

/// The `Date` field of answers, which is rendered once a second.
package struct HTTP1Date {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let secondsPerDay: Int64 = 86_400

    private var second = Int64.min
    private var rendered: [UInt8] = []

    /// Returns the field with its line end.
    mutating func line(at time: WallTime) -> [UInt8] {
        let second = Self.floored(time.milliseconds, by: 1000)
        if second != self.second {
            self.second = second
            rendered = Array("Date: \(Self.text(second))\r\n".utf8)
        }
        return rendered
    }

    /// Returns the time as RFC 9110, section 5.6.7, prescribes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func text(_ second: Int64) -> String {
        let days = floored(second, by: secondsPerDay)
        let rest = second - days * secondsPerDay
        let date = WallTime.date(daysSince1970: days)
        let weekday = Self.days[Int(days - floored(days, by: 7) * 7)]
        return "\(weekday), \(padded(date.day, to: 2)) \(months[Int(date.month) - 1]) \(padded(date.year, to: 4)) "
            + "\(padded(rest / 3600, to: 2)):\(padded(rest / 60 % 60, to: 2)):\(padded(rest % 60, to: 2)) GMT"
    }

    /// Returns the seconds since 1970 of a date in the form of ``text(_:)``; nil for any other text.
    package static func seconds(_ text: String) -> Int64? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard text.utf8.count == 29, parts.count == 6, parts[5] == "GMT", parts[0].hasSuffix(","),
            let month = months.firstIndex(of: String(parts[2])), let day = number(parts[1], digits: 2),
            let year = number(parts[3], digits: 4), (1...31).contains(day), year >= 1970
        else { return nil }
        let clock = parts[4].split(separator: ":", omittingEmptySubsequences: false).map { number($0, digits: 2) }
        guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2], hour < 24,
            minute < 60, second <= 60
        else { return nil }
        // The year begins in March, so that the day that a leap year adds is its last one.
        let (years, months) = month < 2 ? (year - 1, Int64(month) + 10) : (year, Int64(month) - 2)
        let days = years * 365 + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day - 719_469
        return days * secondsPerDay + hour * 3600 + minute * 60 + second
    }

    private static func number(_ text: Substring, digits: Int) -> Int64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(text)
    }

    private static func padded(_ number: Int64, to width: Int) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    /// Divides and rounds down, also before 1970.
    private static func floored(_ number: Int64, by divisor: Int64) -> Int64 {
        number / divisor - (number % divisor < 0 ? 1 : 0)
    }
}
