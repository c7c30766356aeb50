import PushTime

/// How many events the rejected requests of one source may cause: a bucket of tokens.
struct RejectionBudget {
    static let perSecond: Int64 = 100

    private static let interval = 1_000_000_000 / perSecond
    /// When the bucket will be full again, in nanoseconds: one token is one interval.
    private var fullAt: Int64 = .min
    private(set) var skipped: Int64 = 0

    /// Whether one more event may go out; then with how many were left out before it.
    mutating func take(now: MonotonicTime) -> (skipped: Int64, isAllowed: Bool) {
        let begin = max(fullAt, Int64(now.nanoseconds))
        guard begin - Int64(now.nanoseconds) + Self.interval <= Self.perSecond * Self.interval else {
            skipped += 1
            return (0, false)
        }
        fullAt = begin + Self.interval
        defer { skipped = 0 }
        return (skipped, true)
    }
}
