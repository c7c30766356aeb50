package import PushModel
import PushRandom
package import PushTime

/// The connection pool of one app. It decides how many connections there are, where they lead, how many deliveries each
/// gets, and when to stop sending because the push service fails.
///
/// The pool knows only numbers of deliveries, so a batch costs a few calls however large it is. Its shell resolves
/// names, makes connections, holds the queue, and executes the actions in order.
package struct GatewayMachine: ~Copyable {
    package enum Action: Equatable, Sendable {
        /// Look up the addresses of the host without a cache, and then call ``addressesFound(_:for:now:)`` or
        /// ``lookUpFailed(_:for:now:)``.
        case lookUp(ConnectionID)
        case connect(ConnectionID, address: String)
        case drain(ConnectionID)
        case close(ConnectionID)
        /// Take back the deliveries that the connection has not sent.
        case giveBack(ConnectionID)
        /// Send a PING. Then call ``alive(_:now:)``, or the connection ends as silent.
        case ping(ConnectionID)
        /// Get a newer token, because the provider refused this generation.
        case renewToken(refused: UInt64)
        /// Use the newest token for the requests of this connection.
        case useToken(ConnectionID)
        case raise(GatewayEvent)
    }

    enum Mode: Equatable {
        /// Transitions to: halted, finishing, ending.
        case running
        /// Keeps the queue, and sends nothing but the attempts of a ``CredentialTrial``. Transitions to: running, ending.
        case halted(GatewayHalt)
        /// Takes no new deliveries and sends those that it has; with `whenCutOff`, it does not wait for those that it
        /// cannot send now. Transitions to: ending (also for a reason to halt).
        case finishing(whenCutOff: Bool)

        var isFinishing: Bool { if case .finishing = self { true } else { false } }
        /// Every connection is closing. Final.
        case ending
    }

    package private(set) var policy: GatewayPolicy
    var range: ConnectionRange
    /// The number of connections that are wanted now, within the range.
    package internal(set) var wanted: Int
    var mode = Mode.running
    /// Whether an operator has stopped sending. Connections stay open, and deliveries in flight end as usual.
    package private(set) var isPaused = false
    var slots: [PoolSlot] = []
    var lastID: UInt32 = 0
    var epoch: UInt32 = 1
    var rotates = false

    var budget: ConnectBudget
    var addresses: AddressQuarantine
    var breaker: CircuitBreaker
    let reasons: ReasonTable
    var load = LoadGauge()
    var tokens: TokenState
    /// The attempts with a credential that was refused; nil while the credential is not in doubt.
    var trial: CredentialTrial?
    package internal(set) var failedConnectsInARow = 0
    /// The last failure to connect, until a connection is open.
    package internal(set) var fault: ConnectionFault?
    package internal(set) var hasBeenUp = false
    var connectsAgainAt = MonotonicTime(nanoseconds: .min)
    package internal(set) var connects: UInt64 = 0
    /// The number of waiting deliveries, as last reported by the shell.
    var waiting = 0
    /// The index of the connection at which the rotation of single deliveries starts.
    var turn = 0

    var random: SeededRandom
    var actions: [Action] = []

    /// Creates a pool.
    ///
    /// - Parameter usesTokens: Whether the app uses provider tokens. If so, nothing connects before the first one
    ///   arrives.
    package init(
        _ policy: GatewayPolicy, reasons: ReasonTable, usesTokens: Bool, seed: UInt64
    ) {
        self.policy = policy
        self.reasons = reasons
        range = ConnectionRange(minimum: policy.minimum, maximum: policy.maximum)
        wanted = range.minimum
        budget = ConnectBudget(policy.connects, maximum: range.maximum)
        addresses = AddressQuarantine(quarantine: policy.quarantine)
        breaker = CircuitBreaker(policy.breaker)
        tokens = TokenState(isUsed: usesTokens)
        random = SeededRandom(seed: seed)
    }

    // MARK: Queries

    package var minimum: Int { range.minimum }
    package var maximum: Int { range.maximum }
    package var outstanding: Int { slots.reduce(0) { $0 + $1.given } }
    /// Whether waiting deliveries will not be sent any more.
    package var isEnding: Bool { mode == .ending }
    package var hasEnded: Bool { mode == .ending && slots.isEmpty }

    /// Returns the connections whose look-up is running, with their age.
    package func lookingUp(now: MonotonicTime) -> [(ConnectionID, Duration)] {
        slots.filter { $0.phase == .lookingUp }.map { ($0.id, now - $0.begunAt) }
    }

    package func state(now: MonotonicTime) -> GatewayStatus.State {
        switch mode {
        case .halted(let halt): return .halted(halt)
        case .finishing: return .draining
        case .ending: return slots.isEmpty ? .closed : .draining
        case .running: break
        }
        switch breaker.state {
        case .closed: return .running
        case .halfOpen: return .probing
        case .open(let until, let cause): return .paused(for: max(.zero, until - now), cause)
        case .unreachable(let attempts):
            return .paused(for: max(.zero, (nextOpening(now) ?? now) - now), .unreachable(attempts: attempts))
        }
    }

    /// Whether nothing can be handed out now or soon, so that the shell must look for expired deliveries in the queue.
    package var isBlocked: Bool {
        trial != nil || isPaused || !breaker.isClosed || !slots.contains { $0.phase == .open }
    }

    // MARK: Inputs

    package mutating func begin(now: MonotonicTime) -> [Action] {
        settle(now)
    }

    /// Called when a deadline has passed, or may have.
    package mutating func timePassed(now: MonotonicTime) -> [Action] {
        breaker.timePassed(now: now)
        closeOverdue(now: now)
        if let halt = tokens.overdue(now: now, fault) { stop(halt, now: now) }
        growOrShrink(now)
        return settle(now)
    }

    /// Changes the range of connections at an operator's request. Surplus connections drain at once, missing ones are
    /// opened.
    package mutating func scale(minimum: Int, maximum: Int, now: MonotonicTime) -> [Action] {
        range = ConnectionRange(minimum: minimum, maximum: maximum)
        wanted = range.clamp(wanted)
        budget.raise(toMaximum: range.maximum)
        load.reset()
        announceScale(.asked)
        return settle(now)
    }

    /// Stops handing out deliveries at an operator's request, or continues.
    package mutating func setPaused(_ isPaused: Bool, now: MonotonicTime) -> [Action] {
        self.isPaused = isPaused
        load.reset()
        if isPaused { takeBackUnsent() }
        return settle(now)
    }

    /// Takes the report of another node of the cluster that the push service fails, or refuses the same credential. The
    /// pool then needs less to find the same, and finds nothing without an answer of its own.
    package mutating func warn(
        _ kind: GatewayTrouble.Kind, until time: MonotonicTime, now: MonotonicTime
    ) -> [Action] {
        switch kind {
        case .failing: breaker.warn(until: time)
        case .refused:
            tokens.warn(until: time, now: now)
            if let halt = tokens.overdue(now: now, fault) { stop(halt, now: now) }
        }
        return settle(now)
    }

    /// Changes the connect rate and the time that a quiet connection is kept, after a reload.
    package mutating func pace(connectsPerMinute: Int?, shrinkAfter: Duration, now: MonotonicTime) -> [Action] {
        policy.connects.perMinute = connectsPerMinute
        policy.shrinkAfter = shrinkAfter
        budget.change(perMinute: connectsPerMinute, now: now)
        return settle(now)
    }

    /// Stops taking deliveries, sends those that wait, and ends. A halted gateway ends at once.
    ///
    /// - Parameter whenCutOff: Whether the gateway also ends as soon as nothing is in flight and nothing can be sent,
    ///   for an owner that keeps deliveries that come back.
    package mutating func finish(waiting: Int, whenCutOff: Bool = false, now: MonotonicTime) -> [Action] {
        self.waiting = waiting
        switch mode {
        case .running: mode = .finishing(whenCutOff: whenCutOff)
        case .halted: end(now, atOnce: false)
        case .finishing(let before): mode = .finishing(whenCutOff: before || whenCutOff)
        case .ending: break
        }
        return settle(now)
    }

    /// Closes all connections now. The outcome of deliveries in flight becomes unknown.
    package mutating func abandon(now: MonotonicTime) -> [Action] {
        end(now, atOnce: true)
        return takeActions()
    }

    // MARK: The next deadline

    package func nextDeadline(now: MonotonicTime) -> MonotonicTime? {
        var next = MonotonicTime.distantFuture
        for slot in slots {
            if case .draining(let until) = slot.phase { next = min(next, until) }
        }
        if mode != .ending {
            if let until = breaker.opensAgainAt { next = min(next, until) }
            if let until = tokens.awaitedUntil { next = min(next, until) }
            if let opening = nextOpening(now) { next = min(next, opening) }
            if now < connectsAgainAt { next = min(next, connectsAgainAt) }
            if let trial, now < trial.dueAt { next = min(next, trial.dueAt) }
        }
        if mode == .running {
            if mayGrow, let since = load.busySince { next = min(next, since + policy.growAfter) }
            if mayShrink, let since = load.quietSince { next = min(next, since + policy.shrinkAfter) }
        }
        return next == .distantFuture ? nil : next
    }

    // MARK: Helpers of the extensions

    /// Whether the gateway is to finish and has nothing left to wait for.
    var isFinished: Bool {
        guard case .finishing(let whenCutOff) = mode, outstanding == 0 else { return false }
        return waiting == 0 || isPaused || (whenCutOff && !canSend)
    }

    private var canSend: Bool {
        !breaker.isOpen && slots.contains { $0.phase == .open && tokens.isUsable($0.token) }
    }

    mutating func takeActions() -> [Action] {
        let taken = actions
        if !taken.isEmpty { actions = [] }
        return taken
    }

    func index(of id: ConnectionID) -> Int? {
        slots.firstIndex { $0.id == id }
    }
}
