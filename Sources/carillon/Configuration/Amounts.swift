/// Durations as people write them: a whole number and a unit.
enum DurationText {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]
    /// A hundred years: what is longer is a slip, and sums of such cannot overflow.
    private static let longest: Int64 = 36_525 * 86_400_000

    /// Nil unless it is `250ms`, `5s`, `10m`, `2h` or `7d`.
    static func read(_ text: String) -> Duration? {
        let digits = text.utf8.prefix { (48...57).contains($0) }
        guard let number = Int64(Substring(digits)),
            let unit = units.first(where: { $0.name == text.dropFirst(digits.count) })
        else { return nil }
        let (milliseconds, overflows) = number.multipliedReportingOverflow(by: unit.milliseconds)
        guard !overflows, milliseconds <= longest else { return nil }
        return .milliseconds(milliseconds)
    }

    /// In the largest unit that is exact.
    static func write(_ duration: Duration) -> String {
        let parts = duration.components
        let milliseconds = parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000
        let unit = units.last { milliseconds >= $0.milliseconds && milliseconds % $0.milliseconds == 0 } ?? units[0]
        return "\(milliseconds / unit.milliseconds)\(unit.name)"
    }
}

extension ByteCount {
    private static let units: [(name: String, bytes: Int64)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("kB", 1000), ("MB", 1_000_000),
        ("GB", 1_000_000_000), ("TB", 1_000_000_000_000), ("B", 1),
    ]

    /// Nil unless it is a whole number with a unit, as in `64MiB`.
    init?(text: String) {
        let digits = text.utf8.prefix { (48...57).contains($0) }
        guard let number = Int64(Substring(digits)),
            let unit = Self.units.first(where: { $0.name == text.dropFirst(digits.count) })
        else { return nil }
        let (bytes, overflows) = number.multipliedReportingOverflow(by: unit.bytes)
        guard !overflows else { return nil }
        self.init(bytes)
    }
}
