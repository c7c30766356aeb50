import PushTime

/// Limits the events for rejected requests of one source: a token bucket.
struct RejectionBudget {
    static let perSecond: Int64 = 100

    private static let interval = 1_000_000_000 / perSecond
    /// When the bucket will be full again, in nanoseconds. One token corresponds to one interval.
    private var fullAt: Int64 = .min
    private(set) var skipped: Int64 = 0

    /// Returns whether one more event is allowed, and if so how many were skipped since the last one.
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
