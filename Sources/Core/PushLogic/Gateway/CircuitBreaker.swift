import PushModel
import PushTime

/// The circuit breaker of one app. While its push service fails, the app takes no deliveries, and the service gets no
/// requests.
///
/// Only failures of the service itself open the breaker. An answer about a device, a topic, a notification or the
/// credential shows that the service works, whatever its status is: 429 TooManyRequests is about one device
/// (`Documentation/Protocols.md`, "Status and reason"). The breaker opens
/// - when `connectFailures` attempts to connect failed in a row and no connection is open. Attempts continue at their
///   own pace, and the first connection on which a PING is answered closes the breaker without risking a delivery;
/// - when more than half of the last 50 to 100 answers reported a failure of the service, with at least `minAnswers`
///   answers and at least `minDevices` failed devices;
/// - when such an answer had a `Retry-After`, for that time.
///
/// In a cluster, another node may **warn** that it has found the service failing. A warning opens nothing by itself, and
/// ends soon unless it is repeated. While it lasts, one attempt to connect that fails is enough, or one batch of answers
/// most of which report a failure.
///
/// After an opening because of answers, a single delivery is sent as a probe, since a service that answers PING may
/// still refuse every push. Any answer except a failure of the service closes the breaker; any other outcome opens it
/// for longer. A failure for a device that had failed before says little about the service. For the first few of these,
/// another probe is sent at once, so that the messages of one device cannot block all others.
package struct CircuitBreaker: Sendable {
    package struct Policy: Sendable, Equatable {
        package var connectFailures = 5
        package var minAnswers = 20
        package var minDevices = 3
        /// The time that the breaker stays open because of answers, by the number of openings in a row.
        package var pause = Backoff(first: .seconds(10), maxDelay: .seconds(60))
        /// The longest time that a `Retry-After` keeps the breaker open.
        package var maxAskedPause: Duration = .seconds(600)
        /// The maximum number of further probes in a row that may fail for devices that had failed before.
        package var furtherProbes = 16

        package init() {}
    }

    enum State: Equatable {
        case closed
        /// No connection comes up; attempts continue.
        case unreachable(attempts: Int)
        case open(until: MonotonicTime, BreakerCause)
        /// One delivery is sent as a probe. `probe` is the connection that has it, or nil before it is sent.
        case halfOpen(probe: ConnectionID?)
    }

    private struct Window {
        var failed = 0
        var all = 0
        var devices = FewDevices()
    }

    /// The number of answers in half of the window.
    private static let half = 50

    private let policy: Policy
    private(set) var state = State.closed
    private var openings = 0
    private var older = Window()
    private var newer = Window()
    /// The devices that failed before the last opening.
    private var suspects = FewDevices()
    private var furtherProbes = 0
    /// Until when a warning of another node counts.
    private var warnedUntil = MonotonicTime(nanoseconds: .min)

    init(_ policy: Policy) {
        self.policy = policy
    }

    var isClosed: Bool { state == .closed }

    /// Whether nothing is sent.
    var isOpen: Bool {
        switch state {
        case .open, .unreachable: true
        case .closed, .halfOpen: false
        }
    }

    /// Whether connecting is forbidden because of the answers of the service.
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

    /// Whether the breaker is half-open and its probe is not sent yet.
    var wantsProbe: Bool { state == .halfOpen(probe: nil) }

    var opensAgainAt: MonotonicTime? {
        if case .open(let until, _) = state { return until }
        return nil
    }

    /// Takes the answers of one batch. If they open the breaker, returns the duration and the cause.
    mutating func answered(
        _ tally: AnswerTally, on connection: ConnectionID, now: MonotonicTime, random: Double
    ) -> (Duration, BreakerCause)? {
        switch state {
        case .open, .unreachable: nil
        case .halfOpen(let probe): probe == connection ? probed(tally, now: now, random: random) : nil
        case .closed: counted(tally, now: now, random: random)
        }
    }

    /// Takes the answer to a probe.
    private mutating func probed(
        _ tally: AnswerTally, now: MonotonicTime, random: Double
    ) -> (Duration, BreakerCause)? {
        if tally.failed + tally.unknown > 0 {
            if tally.unknown == 0, tally.pause == nil, furtherProbes < policy.furtherProbes,
                tally.failedDevices.count > 0, tally.failedDevices.isPart(of: suspects)
            {
                furtherProbes += 1
                state = .halfOpen(probe: nil)
                return nil
            }
            suspects.note(tally.failedDevices)
            return open(.probeFailed, asked: tally.pause, now: now, random: random)
        }
        if tally.accepted + tally.refused > 0 {
            self = CircuitBreaker(policy)
        } else if tally.ended > 0 {
            state = .halfOpen(probe: nil)
        }
        return nil
    }

    private mutating func counted(
        _ tally: AnswerTally, now: MonotonicTime, random: Double
    ) -> (Duration, BreakerCause)? {
        let good = tally.accepted + tally.refused
        newer.failed += tally.failed
        newer.all += tally.failed + good
        newer.devices.note(tally.failedDevices)
        if newer.all >= Self.half {
            older = newer
            newer = Window()
        }
        if tally.pause != nil {
            suspects = tally.failedDevices
            return open(.asked, asked: tally.pause, now: now, random: random)
        }
        if now < warnedUntil, tally.failed > good {
            suspects = tally.failedDevices
            return open(
                .failingForOthers(answers: tally.failed, of: tally.failed + good), asked: nil, now: now,
                random: random)
        }
        let all = older.all + newer.all
        let failed = older.failed + newer.failed
        guard tally.failed > 0, all >= policy.minAnswers, failed * 2 > all else { return nil }
        var devices = older.devices
        devices.note(newer.devices)
        guard devices.count >= policy.minDevices else { return nil }
        suspects = devices
        return open(.failing(answers: failed, of: all), asked: nil, now: now, random: random)
    }

    /// Takes a failed attempt to connect. If it opens the breaker, returns the duration and the cause.
    ///
    /// - Parameters:
    ///   - inARow: The number of failures since a connection last came up and answered.
    ///   - wait: The time until the next attempt.
    mutating func connectFailed(
        inARow: Int, othersAreOpen: Bool, wait: Duration, now: MonotonicTime
    ) -> (Duration, BreakerCause)? {
        guard !othersAreOpen else { return nil }
        switch state {
        case .open: return nil
        case .unreachable:
            state = .unreachable(attempts: inARow)
            return nil
        case .closed where inARow < (now < warnedUntil ? 1 : policy.connectFailures): return nil
        case .closed where inARow < policy.connectFailures:
            state = .unreachable(attempts: inARow)
            return (wait, .unreachableForOthers(attempts: inARow))
        case .closed, .halfOpen:
            state = .unreachable(attempts: inARow)
            return (wait, .unreachable(attempts: inARow))
        }
    }

    mutating func warn(until time: MonotonicTime) { warnedUntil = max(warnedUntil, time) }

    /// Records that a peer answered a PING or a request. Returns true if that closed the breaker.
    mutating func reached() -> Bool {
        guard case .unreachable = state else { return false }
        self = CircuitBreaker(policy)
        return true
    }

    mutating func probeGiven(to connection: ConnectionID) {
        state = .halfOpen(probe: connection)
    }

    /// Records that a connection closed. If it had the probe, another probe may be sent.
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
        _ cause: BreakerCause, asked: Duration?, now: MonotonicTime, random: Double
    ) -> (Duration, BreakerCause) {
        openings = min(openings + 1, 64)
        let own = policy.pause.delay(afterFailures: openings, random: random)
        let pause =
            if let asked { min(max(asked, cause == .asked ? .seconds(1) : own), policy.maxAskedPause) } else { own }
        older = Window()
        newer = Window()
        state = .open(until: now + pause, cause)
        return (pause, cause)
    }
}
