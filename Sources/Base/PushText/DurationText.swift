/// The text form of durations: a whole number and a unit, such as `5s`.
package enum DurationText {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]
    /// 100 years. A longer duration is a mistake, and sums of shorter ones cannot overflow.
    private static let maxMilliseconds: Int64 = 36_525 * 86_400_000

    /// Parses text such as `250ms`, `5s`, `10m`, `2h` or `7d`. Returns nil for any other text.
    package static func read(_ text: String) -> Duration? {
        let digits = text.utf8.prefix { (48...57).contains($0) }
        guard let number = Int64(Substring(digits)),
            let unit = units.first(where: { $0.name == text.dropFirst(digits.count) })
        else { return nil }
        let (milliseconds, overflows) = number.multipliedReportingOverflow(by: unit.milliseconds)
        guard !overflows, milliseconds <= maxMilliseconds else { return nil }
        return .milliseconds(milliseconds)
    }

    /// Returns the duration in the largest unit that divides it.
    package static func write(_ duration: Duration) -> String {
        let parts = duration.components
        let milliseconds = parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000
        let unit = units.last { milliseconds >= $0.milliseconds && milliseconds % $0.milliseconds == 0 } ?? units[0]
        return "\(milliseconds / unit.milliseconds)\(unit.name)"
    }

    /// Formats an age with its two largest units: `2d 3h`, `4m 10s`.
    package static func age(_ seconds: Int64) -> String {
        let units: [(String, Int64)] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)]
        guard let first = units.firstIndex(where: { seconds >= $0.1 }) else { return "0s" }
        let (name, length) = units[first]
        let whole = "\(seconds / length)\(name)"
        guard first + 1 < units.count else { return whole }
        let rest = seconds % length / units[first + 1].1
        return rest == 0 ? whole : "\(whole) \(rest)\(units[first + 1].0)"
    }

    /// Formats a time relative to now: "in 12 days", "3 hours ago".
    package static func distance(_ seconds: Int64) -> String {
        let units: [(Int64, String)] = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")]
        let length = seconds.magnitude
        let (size, name) = units.first { length >= UInt64(2 * $0.0) } ?? (1, "second")
        let count = length / UInt64(size)
        let words = "\(count) \(name)\(count == 1 ? "" : "s")"
        return seconds > 0 ? "in \(words)" : "\(words) ago"
    }
}
