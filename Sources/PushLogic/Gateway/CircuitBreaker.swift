import PushModel
import PushTime

/// Keeps an app whose push service fails from taking deliveries that others could send, and the service from being
/// pressed while it is down.
///
/// Only the trouble of the service itself opens it. An answer about a device, a topic, a notification or the credential
/// shows that the service works, whatever its status is: 429 TooManyRequests is about one device (PROTOCOLS A7). It opens
/// - when `connectFailures` attempts to connect failed in a row and no connection is open. Attempts go on meanwhile, at
///   their own pace; the first connection on which a PING is answered closes the breaker. No delivery is risked for that;
/// - when more than half of the last 50 to 100 answers, at least `fewestAnswers` of them and to at least
///   `fewestDevices`, said that the service could not;
/// - when such an answer came with `Retry-After`, for that long.
///
/// After an opening for answers one delivery tries, since a service that answers PING may still refuse every push. Any
/// answer but one of trouble closes the breaker, anything else opens it for longer. A failure of a device that had
/// failed before says little of the service: for the first few of those, another delivery tries at once, so that the
/// messages of one device cannot be what holds all others back.
package struct CircuitBreaker: Sendable {
    package struct Policy: Sendable, Equatable {
        package var connectFailures = 5
        package var fewestAnswers = 20
        package var fewestDevices = 3
        /// How long it stays open for answers, by openings in a row.
        package var pause = Backoff(first: .seconds(10), longest: .seconds(60))
        /// The longest that a `Retry-After` holds all back.
        package var longestAsked: Duration = .seconds(600)
        /// Deliveries to devices that had failed before that may try in a row.
        package var furtherProbes = 16

        package init() {}
    }

    enum State: Equatable {
        case closed
        /// No connection comes up; attempts go on.
        case unreachable(attempts: Int)
        case open(until: MonotonicTime, BreakerCause)
        /// `probe`: the connection that has the one delivery.
        case halfOpen(probe: ConnectionID?)
    }

    private struct Window {
        var failed = 0
        var all = 0
        var devices = FewDevices()
    }

    /// A half of the window of answers.
    private static let half = 50

    private let policy: Policy
    private(set) var state = State.closed
    private var openings = 0
    private var older = Window()
    private var newer = Window()
    /// Devices that failed before it opened last.
    private var suspects = FewDevices()
    private var furtherProbes = 0

    init(_ policy: Policy) {
        self.policy = policy
    }

    var isClosed: Bool { state == .closed }

    /// Nothing is sent.
    var isOpen: Bool {
        switch state {
        case .open, .unreachable: true
        case .closed, .halfOpen: false
        }
    }

    /// The service asked to be let alone, or cannot: it is not connected to either.
    var forbidsConnecting: Bool {
        if case .open = state { return true }
        return false
    }

    var isUnreachable: Bool {
        if case .unreachable = state { return true }
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
        case .open, .unreachable:
            return nil
        case .halfOpen(let probe):
            guard probe == connection else { return nil }
            if tally.failed + tally.unknown > 0 {
                if tally.unknown == 0, tally.pause == nil, furtherProbes < policy.furtherProbes,
                    tally.failedDevices.count > 0, tally.failedDevices.isPart(of: suspects)
                {
                    furtherProbes += 1
                    state = .halfOpen(probe: nil)
                    return nil
                }
                suspects.note(tally.failedDevices)
                return open(.probeFailed, asked: tally.pause, now, random)
            }
            if good > 0 {
                self = CircuitBreaker(policy)
            } else if tally.ended > 0 {
                state = .halfOpen(probe: nil)
            }
            return nil
        case .closed:
            newer.failed += tally.failed
            newer.all += tally.failed + good
            newer.devices.note(tally.failedDevices)
            if newer.all >= Self.half {
                older = newer
                newer = Window()
            }
            if tally.pause != nil {
                suspects = tally.failedDevices
                return open(.asked, asked: tally.pause, now, random)
            }
            let all = older.all + newer.all
            let failed = older.failed + newer.failed
            guard tally.failed > 0, all >= policy.fewestAnswers, failed * 2 > all else { return nil }
            var devices = older.devices
            devices.note(newer.devices)
            guard devices.count >= policy.fewestDevices else { return nil }
            suspects = devices
            return open(.failing(answers: failed, of: all), asked: nil, now, random)
        }
    }

    /// - Parameters:
    ///   - inARow: failures since a connection last came up and answered.
    ///   - wait: the time to the next attempt.
    mutating func connectFailed(inARow: Int, othersAreOpen: Bool, wait: Duration) -> (Duration, BreakerCause)? {
        guard !othersAreOpen else { return nil }
        switch state {
        case .open: return nil
        case .unreachable:
            state = .unreachable(attempts: inARow)
            return nil
        case .closed where inARow < policy.connectFailures: return nil
        case .closed, .halfOpen:
            state = .unreachable(attempts: inARow)
            return (wait, .unreachable(attempts: inARow))
        }
    }

    /// A peer has answered a PING, or an answer came. True when that closed it.
    mutating func reached() -> Bool {
        guard case .unreachable = state else { return false }
        self = CircuitBreaker(policy)
        return true
    }

    mutating func probeGiven(to connection: ConnectionID) {
        state = .halfOpen(probe: connection)
    }

    /// The connection with the probe has closed without an answer.
    mutating func connectionClosed(_ connection: ConnectionID) {
        if state == .halfOpen(probe: connection) { state = .halfOpen(probe: nil) }
    }

    mutating func timePassed(now: MonotonicTime) {
        if case .open(let until, _) = state, now >= until {
            furtherProbes = 0
            state = .halfOpen(probe: nil)
        }
    }

    mutating func reset() {
        self = CircuitBreaker(policy)
    }

    private mutating func open(
        _ cause: BreakerCause, asked: Duration?, _ now: MonotonicTime, _ random: Double
    ) -> (Duration, BreakerCause) {
        openings = min(openings + 1, 64)
        let own = policy.pause.delay(afterFailures: openings, random: random)
        let pause =
            if let asked { min(max(asked, cause == .asked ? .seconds(1) : own), policy.longestAsked) } else { own }
        older = Window()
        newer = Window()
        state = .open(until: now + pause, cause)
        return (pause, cause)
    }
}
