import PushLogic
import PushTime

/// The circuit breaker of one origin, and the pauses between its attempts to connect.
///
/// It opens after failures in a row: attempts to connect, answers with a status of 500 or more, requests without an
/// answer, and connections that end without one. After its pause it is half-open: one delivery is sent at a time, and the
/// first answer that is not a failure closes it.
struct OriginHealth: Equatable {
    struct Policy: Sendable, Equatable {
        /// The failures in a row that open the breaker.
        var failures = 5
        var pause = Backoff(first: .seconds(5), maxDelay: .seconds(300))
        /// The time between attempts to connect, by the failures in a row.
        var reconnect = Backoff(first: .seconds(1), maxDelay: .seconds(30))
        /// The longest time that a `Retry-After` keeps the breaker open.
        var maxAsked: Duration = .seconds(300)
    }

    enum State: Equatable {
        /// Can transition to: open.
        case closed(failures: Int)
        /// Nothing is sent. Can transition to: halfOpen.
        case open(until: MonotonicTime)
        /// Can transition to: closed, open.
        case halfOpen
    }

    private(set) var state = State.closed(failures: 0)
    private var openings = 0
    private var connectFailures = 0
    /// The time before which no connection is made, after an attempt that failed.
    private(set) var connectsAt: MonotonicTime?

    var isOpen: Bool { opensUntil != nil }

    var isHalfOpen: Bool { state == .halfOpen }

    var opensUntil: MonotonicTime? {
        if case .open(let until) = state { return until }
        return nil
    }

    /// Whether it is doubtful that deliveries can be sent.
    var isTroubled: Bool { isOpen || isHalfOpen || connectFailures > 0 }

    mutating func timePassed(now: MonotonicTime) {
        if let until = opensUntil, now >= until { state = .halfOpen }
    }

    /// Takes an answer that shows that the origin works. While the breaker is open, it is one to an earlier request, and
    /// the pause goes on.
    mutating func succeeded() {
        guard isOpen else { return self = OriginHealth() }
        connectFailures = 0
        connectsAt = nil
    }

    /// Takes a failure of the origin while it was connected.
    ///
    /// - Parameter asked: The seconds of a `Retry-After`.
    mutating func failed(asked: Int? = nil, by policy: Policy, now: MonotonicTime, random: Double) {
        switch state {
        case .open: break
        case .halfOpen: open(asked: asked, by: policy, now: now, random: random)
        case .closed(let failures):
            state = .closed(failures: failures + 1)
            if failures + 1 >= policy.failures || asked != nil {
                open(asked: asked, by: policy, now: now, random: random)
            }
        }
    }

    /// Takes an attempt to connect that failed, or a connection that ended before it was of use.
    mutating func connectFailed(by policy: Policy, now: MonotonicTime, random: Double) {
        connectFailures = min(connectFailures + 1, 64)
        connectsAt = now + policy.reconnect.delay(afterFailures: connectFailures, random: random)
        failed(by: policy, now: now, random: random)
    }

    private mutating func open(asked: Int?, by policy: Policy, now: MonotonicTime, random: Double) {
        openings = min(openings + 1, 64)
        let own = policy.pause.delay(afterFailures: openings, random: random)
        let asked = Duration.seconds(min(max(asked ?? 0, 0), 86_400))
        state = .open(until: now + min(max(asked, own), max(policy.maxAsked, own)))
    }
}
