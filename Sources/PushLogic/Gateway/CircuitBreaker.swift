import PushModel
import PushTime

/// Keeps an app whose push service fails from taking deliveries that others could send, and the service from being
/// pressed while it is down.
///
/// It opens
/// - when `connectFailures` attempts to connect failed in a row and no connection is open;
/// - when more than half of the last 50 to 100 answers, and of at least `fewestAnswers`, were 429 or 5xx;
/// - when an answer of 5xx came with `Retry-After`, for that long.
///
/// While it is open nothing is sent and nothing is asked for. Then one delivery tries: an answer other than 429 or 5xx
/// closes the breaker, anything else opens it for longer.
package struct CircuitBreaker: Sendable {
    package struct Policy: Sendable, Equatable {
        package var connectFailures = 5
        package var fewestAnswers = 20
        /// How long it stays open, by openings in a row.
        package var pause = Backoff(first: .seconds(10), longest: .seconds(300))
        /// The longest that a `Retry-After` holds all back.
        package var longestAsked: Duration = .seconds(600)

        package init() {}
    }

    enum State: Equatable {
        case closed
        case open(until: MonotonicTime, BreakerCause)
        /// `probe`: the connection that has the one delivery.
        case halfOpen(probe: ConnectionID?)
    }

    /// A half of the window of answers.
    private static let half = 50

    private let policy: Policy
    private(set) var state = State.closed
    private var openings = 0
    private var older = (failed: 0, all: 0)
    private var newer = (failed: 0, all: 0)

    init(_ policy: Policy) {
        self.policy = policy
    }

    var isClosed: Bool { state == .closed }

    var isOpen: Bool {
        if case .open = state { return true }
        return false
    }

    var isHalfOpen: Bool {
        if case .halfOpen = state { return true }
        return false
    }

    /// In half-open: whether the one delivery may be handed out.
    var wantsProbe: Bool { state == .halfOpen(probe: nil) }

    var opensAgainAt: MonotonicTime? {
        if case .open(let until, _) = state { return until }
        return nil
    }

    /// How the answers of one batch spread. Returns for how long and why it opened, if it did.
    mutating func answered(
        _ tally: AnswerTally, on connection: ConnectionID, now: MonotonicTime, random: Double
    ) -> (Duration, BreakerCause)? {
        let good = tally.accepted + tally.refused
        switch state {
        case .open:
            return nil
        case .halfOpen(let probe):
            guard probe == connection else { return nil }
            if tally.failed + tally.unknown > 0 { return open(.probeFailed, asked: tally.pause, now, random) }
            if good > 0 {
                self = CircuitBreaker(policy)
            } else if tally.ended > 0 {
                state = .halfOpen(probe: nil)
            }
            return nil
        case .closed:
            newer.failed += tally.failed
            newer.all += tally.failed + good
            if newer.all >= Self.half {
                older = newer
                newer = (0, 0)
            }
            if tally.pause != nil { return open(.asked, asked: tally.pause, now, random) }
            let all = older.all + newer.all
            let failed = older.failed + newer.failed
            guard tally.failed > 0, all >= policy.fewestAnswers, failed * 2 > all else { return nil }
            return open(.failing(answers: failed, of: all), asked: nil, now, random)
        }
    }

    /// - Parameter inARow: failures since a connection last came up and answered.
    mutating func connectFailed(
        inARow: Int, othersAreOpen: Bool, now: MonotonicTime, random: Double
    ) -> (Duration, BreakerCause)? {
        guard !othersAreOpen else { return nil }
        switch state {
        case .open: return nil
        case .halfOpen: return open(.probeFailed, asked: nil, now, random)
        case .closed:
            guard inARow >= policy.connectFailures else { return nil }
            return open(.unreachable(attempts: inARow), asked: nil, now, random)
        }
    }

    mutating func probeGiven(to connection: ConnectionID) {
        state = .halfOpen(probe: connection)
    }

    /// The connection with the probe has closed without an answer.
    mutating func connectionClosed(_ connection: ConnectionID) {
        if state == .halfOpen(probe: connection) { state = .halfOpen(probe: nil) }
    }

    mutating func timePassed(now: MonotonicTime) {
        if case .open(let until, _) = state, now >= until { state = .halfOpen(probe: nil) }
    }

    mutating func reset() {
        self = CircuitBreaker(policy)
    }

    private mutating func open(
        _ cause: BreakerCause, asked: Duration?, _ now: MonotonicTime, _ random: Double
    ) -> (Duration, BreakerCause) {
        openings += 1
        let own = policy.pause.delay(afterFailures: openings, random: random)
        let pause =
            if let asked { min(max(asked, cause == .asked ? .seconds(1) : own), policy.longestAsked) } else { own }
        older = (0, 0)
        newer = (0, 0)
        state = .open(until: now + pause, cause)
        return (pause, cause)
    }
}
