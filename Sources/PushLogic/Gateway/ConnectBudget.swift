import PushTime

/// How many connections may be begun: a bucket of tokens, whatever the reason for connecting is.
///
/// A push service takes frequent connecting for an attack and blocks the host (PROTOCOLS A2); a service that ends every
/// connection after its first answer must not make us do it.
package struct ConnectBudget: Sendable {
    package struct Policy: Sendable, Equatable {
        /// Connects that may follow each other at once. Nil: twice the highest maximum, so that all may be opened and
        /// replaced once, and at least 4.
        package var burst: Int?
        /// Nil: without limit, for simulators and private gateways.
        package var perMinute: Int? = 4

        package init() {}

        package static var unlimited: Policy {
            var policy = Policy()
            policy.perMinute = nil
            return policy
        }
    }

    private var isLimited: Bool
    private let fixedBurst: Int?
    /// Between two tokens, in nanoseconds.
    private var interval: Int64
    private var burst: Int64
    /// Saved up, in nanoseconds: one token is an `interval`. Whole numbers, so that a deadline is never just missed.
    private var saved: Int64
    /// It begins full, so it does not matter when that was.
    private var countedAt = MonotonicTime(nanoseconds: 0)

    init(_ policy: Policy, maximum: Int) {
        isLimited = policy.perMinute != nil
        interval = Self.interval(policy.perMinute)
        fixedBurst = policy.burst
        burst = Int64(Self.burst(policy.burst, maximum))
        saved = burst * interval
    }

    private static func interval(_ perMinute: Int?) -> Int64 {
        60_000_000_000 / Int64(min(max(perMinute ?? 1, 1), 60_000))
    }

    private static func burst(_ fixed: Int?, _ maximum: Int) -> Int {
        min(max(1, fixed ?? max(4, 2 * maximum)), 100_000)
    }

    /// A higher maximum than ever brings what it needs with it; going up and down does not.
    mutating func raise(toMaximum maximum: Int) {
        let raised = Int64(Self.burst(fixedBurst, maximum))
        guard raised > burst else { return }
        saved += (raised - burst) * interval
        burst = raised
    }

    /// Another rate from now on; what was saved up stays, by number.
    mutating func change(perMinute: Int?, now: MonotonicTime) {
        count(now)
        let new = Self.interval(perMinute)
        let (number, rest) = saved.quotientAndRemainder(dividingBy: interval)
        saved = number * new + Int64(Double(rest) / Double(interval) * Double(new))
        isLimited = perMinute != nil
        interval = new
    }

    /// Whether a connection may be begun now; if so, it is counted.
    mutating func take(now: MonotonicTime) -> Bool {
        guard isLimited else { return true }
        count(now)
        guard saved >= interval else { return false }
        saved -= interval
        return true
    }

    /// When the next may be begun. Not before `now`.
    func nextFree(now: MonotonicTime) -> MonotonicTime {
        guard isLimited, saved < interval else { return now }
        return max(now, countedAt + .nanoseconds(interval - saved))
    }

    private mutating func count(_ now: MonotonicTime) {
        guard now > countedAt else { return }
        let (sum, overflow) = saved.addingReportingOverflow(now.nanoseconds - countedAt.nanoseconds)
        saved = overflow ? burst * interval : min(sum, burst * interval)
        countedAt = now
    }
}
