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
}
