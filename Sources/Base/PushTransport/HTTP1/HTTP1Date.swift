import PushLoop
import PushTime

/// The `Date` field of answers, which is rendered once a second.
struct HTTP1Date {
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

    private static func padded(_ number: Int64, to width: Int) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    /// Divides and rounds down, also before 1970.
    private static func floored(_ number: Int64, by divisor: Int64) -> Int64 {
        number / divisor - (number % divisor < 0 ? 1 : 0)
    }
}
