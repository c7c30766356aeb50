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
