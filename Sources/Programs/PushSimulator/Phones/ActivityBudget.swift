/// The number of updates with priority 10 that a phone shows of one Live Activity in an hour. Apple does not publish
/// its own; it is larger for apps with `NSSupportsLiveActivitiesFrequentUpdates`.
struct ActivityBudget: Equatable {
    private static let hour: Int64 = 3_600_000

    /// The time in milliseconds at which the whole budget is there again.
    private var fullAt: Int64 = 0

    /// Spends one update. Returns false if nothing is left.
    mutating func spend(of updates: Int, at now: Int64) -> Bool {
        guard updates > 0 else { return false }
        let interval = Self.hour / Int64(updates)
        let begin = max(fullAt, now)
        guard begin - now <= interval * Int64(updates - 1) else { return false }
        fullAt = begin + interval
        return true
    }
}
