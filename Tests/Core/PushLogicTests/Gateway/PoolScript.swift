import APNs
import PushLogic
import PushModel
import PushTime

/// A machine with a clock that the test moves, and an environment that executes its actions.
final class PoolScript {
    typealias Action = GatewayMachine.Action

    private(set) var machine: GatewayMachine
    private(set) var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    /// The actions that were requested and not taken yet.
    private(set) var actions: [Action] = []
    var addresses = ["10.0.0.1", "10.0.0.2"]
    var waiting = 0

    init(usesTokens: Bool = false, seed: UInt64 = 1, _ change: (inout GatewayPolicy) -> Void = { _ in }) {
        var policy = GatewayPolicy()
        change(&policy)
        machine = GatewayMachine(policy, reasons: .apns, usesTokens: usesTokens, seed: seed)
        actions = machine.begin(now: now)
    }

    /// Returns the actions since the last call.
    func take() -> [Action] {
        defer { actions = [] }
        return actions
    }

    var events: [GatewayEvent] {
        actions.compactMap { if case .raise(let event) = $0 { event } else { nil } }
    }

    func input(_ work: (inout GatewayMachine, MonotonicTime) -> [Action]) {
        actions += work(&machine, now)
    }

    /// Moves the clock, and lets every deadline on the way pass at its own time.
    func pass(_ duration: Duration) {
        let end = now + duration
        while let next = machine.nextDeadline(now: now), next <= end {
            now = max(now, next)
            let before = machine.nextDeadline(now: now)
            input { $0.timePassed(now: $1) }
            // A deadline that does not change would keep this loop running forever.
            if machine.nextDeadline(now: now) == before, before == next { now = now + .nanoseconds(1) }
        }
        now = end
        input { $0.timePassed(now: $1) }
    }

    /// Answers the requested look-ups. Returns the connections that start because of that.
    @discardableResult
    func lookUps() -> [(id: ConnectionID, address: String)] {
        var begun: [(ConnectionID, String)] = []
        let asked = actions
        actions = []
        for action in asked {
            guard case .lookUp(let id) = action else {
                actions.append(action)
                continue
            }
            input { [addresses] in $0.addressesFound(addresses, for: id, now: $1) }
        }
        let made = actions
        actions = []
        for action in made {
            if case .connect(let id, let address) = action {
                begun.append((id, address))
            } else {
                actions.append(action)
            }
        }
        return begun
    }

    /// Answers the requested PINGs.
    func answerPings() {
        let asked = actions
        actions = asked.filter { if case .ping = $0 { false } else { true } }
        for action in asked {
            if case .ping(let id) = action { input { $0.alive(id, now: $1) } }
        }
    }

    /// Answers the requested look-ups and opens their connections.
    @discardableResult
    func bringUp(limit: Int = 100) -> [ConnectionID] {
        let begun = lookUps().map { id, _ in
            input { $0.ready(id, limit: limit, now: $1) }
            return id
        }
        answerPings()
        return begun
    }

    /// Hands out waiting deliveries as a gateway does at the end of a tick.
    @discardableResult
    func hand(_ waiting: Int) -> [GatewayMachine.Assignment] {
        let assignments = machine.assignments(waiting: waiting, now: now)
        var left = waiting
        for assignment in assignments {
            machine.gave(assignment.count, to: assignment.connection)
            left -= assignment.count
        }
        self.waiting = left
        input { [left] in $0.handedOut(waiting: left, now: $1) }
        return assignments
    }

    /// Ends deliveries on a connection.
    ///
    /// - Parameter devices: The devices of the failures; by default, one for each failure.
    func end(_ id: ConnectionID, devices: ClosedRange<UInt64>? = nil, _ change: (inout AnswerTally) -> Void) {
        var tally = AnswerTally()
        change(&tally)
        if tally.failed > 0 {
            for number in devices ?? 1...UInt64(tally.failed) {
                tally.failedDevices.note(Address(words: (number, 0, 0, 0)))
            }
        }
        tally.ended = tally.accepted + tally.refused + tally.failed + tally.unknown + tally.notProcessed
        input { [tally] in $0.ended(tally, on: id, now: $1) }
    }

    func accept(_ count: Int, on id: ConnectionID) { end(id) { $0.accepted = count } }

    func close(
        _ id: ConnectionID, _ kind: ConnectionEnd.Kind, reason: String? = nil, disposition: Disposition = .retry
    ) {
        let end = ConnectionEnd(kind, message: "scripted", reason: reason.map(ProviderReason.init(rawValue:)))
        input { $0.closed(id, end: end, disposition: disposition, now: $1) }
    }

    func goAway(_ id: ConnectionID, reason: String? = nil, disposition: Disposition = .retry) {
        let reason = reason.map(ProviderReason.init(rawValue:))
        input { $0.goAway(id, reason: reason, disposition: disposition, now: $1) }
    }

    var hasEnded: Bool { machine.hasEnded }
    var failures: Int { machine.failedConnectsInARow }
    var outstanding: Int { machine.outstanding }
    var wanted: Int { machine.wanted }
    func token(of id: ConnectionID, leftAt: MonotonicTime) -> UInt64? { machine.token(of: id, leftAt: leftAt) }
    var nextTrial: Duration? { machine.nextTrial(now: now) }
    /// The look-ups that were requested and not answered yet.
    var lookUpsAsked: [ConnectionID] { actions.lookUps }
    var state: GatewayStatus.State { machine.state(now: now) }
    var credit: Int { machine.credit(waiting: waiting, now: now) }
}

extension [GatewayMachine.Action] {
    var drains: [ConnectionID] { compactMap { if case .drain(let id) = $0 { id } else { nil } } }
    var closes: [ConnectionID] { compactMap { if case .close(let id) = $0 { id } else { nil } } }
    var lookUps: [ConnectionID] { compactMap { if case .lookUp(let id) = $0 { id } else { nil } } }
}
