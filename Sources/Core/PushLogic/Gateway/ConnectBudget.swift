import PushTime

/// The limit on new connections: a token bucket that counts every connection, whatever its reason.
///
/// A push service treats frequent connecting as an attack and blocks the host (`Documentation/Protocols.md`, "TLS and
/// connections"). A service that ends every connection after its first answer must not cause that.
package struct ConnectBudget: Sendable {
    package struct Policy: Sendable, Equatable {
        package static let defaultPerMinute = 6

        /// The number of connections that may follow each other at once. With nil it is twice the highest maximum, so
        /// that all connections may be opened and replaced once, and at least 4.
        package var burst: Int?
        /// Nil means no limit, for simulators and private gateways.
        package var perMinute: Int? = defaultPerMinute

        package init() {}

        package static var unlimited: Policy {
            var policy = Policy()
            policy.perMinute = nil
            return policy
        }
    }

    private var isLimited: Bool
    private let fixedBurst: Int?
    /// The time between two tokens, in nanoseconds.
    private var interval: Int64
    private var burst: Int64
    /// The saved time in nanoseconds; one token is an `interval`. Whole numbers ensure that a deadline is never missed
    /// by a rounding error.
    private var saved: Int64
    /// The bucket starts full, so the first value does not matter.
    private var countedAt = MonotonicTime(nanoseconds: 0)

    init(_ policy: Policy, maximum: Int) {
        isLimited = policy.perMinute != nil
        interval = Self.interval(policy.perMinute)
        fixedBurst = policy.burst
        burst = Int64(Self.burst(fixed: policy.burst, maximum: maximum))
        saved = burst * interval
    }

    private static func interval(_ perMinute: Int?) -> Int64 {
        60_000_000_000 / Int64(min(max(perMinute ?? 1, 1), 60_000))
    }

    private static func burst(fixed: Int?, maximum: Int) -> Int {
        min(max(1, fixed ?? max(4, 2 * maximum)), 100_000)
    }

    /// Raises the burst for a maximum that is higher than all before, and adds the difference. Lowering and raising the
    /// maximum again adds nothing.
    mutating func raise(toMaximum maximum: Int) {
        let raised = Int64(Self.burst(fixed: fixedBurst, maximum: maximum))
        guard raised > burst else { return }
        saved += (raised - burst) * interval
        burst = raised
    }

    /// Changes the rate. The number of saved tokens stays the same.
    mutating func change(perMinute: Int?, now: MonotonicTime) {
        count(now)
        let new = Self.interval(perMinute)
        let (number, rest) = saved.quotientAndRemainder(dividingBy: interval)
        saved = number * new + Int64(Double(rest) / Double(interval) * Double(new))
        isLimited = perMinute != nil
        interval = new
    }

    /// Takes a token for a connection. Returns false if there is none.
    mutating func take(now: MonotonicTime) -> Bool {
        guard isLimited else { return true }
        count(now)
        guard saved >= interval else { return false }
        saved -= interval
        return true
    }

    /// Gives back the token of a connection.
    mutating func giveBack() { saved = min(saved + interval, burst * interval) }

    /// Returns the time at which the next connection may be started, which is not before `now`.
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
