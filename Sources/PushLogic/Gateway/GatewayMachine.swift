package import PushModel
package import PushTime

/// The pool of one app's connections: how many there are, where they lead, which of them gets how many deliveries, and
/// when to let the push service alone.
///
/// It knows deliveries by number only: a batch costs a few calls, however large it is. Its shell looks names up, makes
/// connections, holds the queue, and does what the actions say, in order.
package struct GatewayMachine: ~Copyable {
    package enum Action: Equatable, Sendable {
        /// Find the addresses of the host, without a cache; then `addressesFound` or `lookUpFailed`.
        case lookUp(ConnectionID)
        case connect(ConnectionID, address: String)
        case drain(ConnectionID)
        case close(ConnectionID)
        /// Ask the peer for a sign of life; then `alive`, or the connection ends as silent.
        case ping(ConnectionID)
        /// The provider refused this generation of the token: have a newer one minted.
        case renewToken(refused: UInt64)
        /// Requests of this connection are to carry the newest token.
        case useToken(ConnectionID)
        case raise(GatewayEvent)
    }

    enum Mode: Equatable {
        /// Transitions to: halted, finishing, ending.
        case running
        /// Connects no more, sends nothing, keeps the queue. Transitions to: running, ending.
        case halted(GatewayHalt)
        /// Takes no more, sends what there is. Transitions to: ending (also for what would halt it).
        case finishing
        /// Every connection is on its way out. Final.
        case ending
    }

    package private(set) var policy: GatewayPolicy
    var range: ConnectionRange
    /// How many connections there are to be now, within the range.
    package internal(set) var wanted: Int
    var mode = Mode.running
    var slots: [PoolSlot] = []
    var lastID: UInt32 = 0
    var epoch: UInt32 = 1
    var rotates = false

    var budget: ConnectBudget
    var addresses: AddressBook
    var breaker: CircuitBreaker
    var load = LoadGauge()
    var tokens: TokenState
    package internal(set) var failedConnectsInARow = 0
    /// Why there is no connection: the last failure, until a connection is open.
    package internal(set) var fault: ConnectionFault?
    package internal(set) var hasBeenUp = false
    /// While it finishes: what cannot be sent now is not waited for.
    private var finishesWhenCutOff = false
    var connectsAgainAt = MonotonicTime(nanoseconds: .min)
    package internal(set) var connects: UInt64 = 0
    /// As the shell last said it.
    var waiting = 0
    /// Where single deliveries begin to go around.
    var turn = 0

    var random: SplitMix
    var actions: [Action] = []

    /// - Parameter usesTokens: with them nothing connects before the first has come.
    package init(_ policy: GatewayPolicy, usesTokens: Bool, seed: UInt64) {
        self.policy = policy
        range = ConnectionRange(minimum: policy.minimum, maximum: policy.maximum)
        wanted = range.minimum
        budget = ConnectBudget(policy.connects, maximum: range.maximum)
        addresses = AddressBook(quarantine: policy.quarantine)
        breaker = CircuitBreaker(policy.breaker)
        tokens = TokenState(isUsed: usesTokens)
        random = SplitMix(seed: seed)
    }

    // MARK: What it is asked

    package var minimum: Int { range.minimum }
    package var maximum: Int { range.maximum }
    package var outstanding: Int { slots.reduce(0) { $0 + $1.given } }
    /// Nothing that waits will be sent any more.
    package var isEnding: Bool { mode == .ending }
    package var hasEnded: Bool { mode == .ending && slots.isEmpty }

    /// Connections that the shell has not made yet, with their age.
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

    /// Nothing can be handed out now, and not soon: what expires in the queue is to be looked for there.
    package var isBlocked: Bool {
        if case .halted = mode { return true }
        return !breaker.isClosed || !slots.contains { $0.phase == .open }
    }

    // MARK: Inputs

    package mutating func begin(now: MonotonicTime) -> [Action] {
        settle(now)
    }

    /// A deadline has passed, or may have.
    package mutating func timePassed(now: MonotonicTime) -> [Action] {
        breaker.timePassed(now: now)
        closeOverdue(now)
        if let halt = tokens.overdue(now: now, fault) { stop(halt, now) }
        growOrShrink(now)
        return settle(now)
    }

    /// Live, from an operator. Surplus connections drain at once, missing ones are opened.
    package mutating func scale(minimum: Int, maximum: Int, now: MonotonicTime) -> [Action] {
        range = ConnectionRange(minimum: minimum, maximum: maximum)
        wanted = range.clamp(wanted)
        budget.raise(toMaximum: range.maximum)
        load.reset()
        announceScale(.asked)
        return settle(now)
    }

    /// Live, from a reload: how often it may connect, and how long a quiet connection is kept.
    package mutating func pace(connectsPerMinute: Int?, shrinkAfter: Duration, now: MonotonicTime) -> [Action] {
        policy.connects.perMinute = connectsPerMinute
        policy.shrinkAfter = shrinkAfter
        budget.change(perMinute: connectsPerMinute, now: now)
        return settle(now)
    }

    /// Takes no more from its owner, sends what there is, then ends. Halted, it ends at once.
    ///
    /// - Parameter whenCutOff: it also ends as soon as nothing is on the wire and nothing can be sent, for an owner that
    ///   keeps what comes back.
    package mutating func finish(waiting: Int, whenCutOff: Bool = false, now: MonotonicTime) -> [Action] {
        self.waiting = waiting
        finishesWhenCutOff = finishesWhenCutOff || whenCutOff
        switch mode {
        case .running: mode = .finishing
        case .halted: end(now, atOnce: false)
        case .finishing, .ending: break
        }
        return settle(now)
    }

    /// Closes everything now: what is in flight becomes unknown.
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
        if mode == .running || mode == .finishing {
            if let until = breaker.opensAgainAt { next = min(next, until) }
            if let until = tokens.awaitedUntil { next = min(next, until) }
            if let opening = nextOpening(now) { next = min(next, opening) }
            if now < connectsAgainAt { next = min(next, connectsAgainAt) }
        }
        if mode == .running {
            if mayGrow, let since = load.busySince { next = min(next, since + policy.growAfter) }
            if mayShrink, let since = load.quietSince { next = min(next, since + policy.shrinkAfter) }
        }
        return next == .distantFuture ? nil : next
    }

    // MARK: For the other files

    /// It is to finish, and nothing is left that could be waited for.
    var isFinished: Bool {
        guard mode == .finishing, outstanding == 0 else { return false }
        return waiting == 0 || (finishesWhenCutOff && !canSend)
    }

    private var canSend: Bool {
        !breaker.isOpen && slots.contains { $0.phase == .open && tokens.isBelieved($0.token) }
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
