import APNs
import PushLogic
import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

/// Random walks of the pool beside a model that knows only what a pool must never do.
@Suite struct PoolWalkTests {
    @Test(arguments: [false, true]) func `No walk breaks a promise, and the pool recovers in the end`(
        _ usesTokens: Bool
    ) {
        for seed in UInt64(1)...RunKind.rounds(60, long: 1000) {
            let walk = PoolWalk(seed: seed, usesTokens: usesTokens)
            for _ in 0..<150 where walk.fault == nil { walk.step() }
            walk.recover()
            if let fault = walk.fault {
                Issue.record("seed \(seed): \(fault)")
                return
            }
        }
    }
}

private final class PoolWalk {
    enum Phase {
        case lookingUp, connecting, open, draining(MonotonicTime), closing
    }

    struct Peer {
        var phase = Phase.lookingUp
        var limit = 0
        var given = 0
        let epoch: Int
    }

    private var machine: GatewayMachine
    private var random: SeededRandom
    private var now = MonotonicTime(nanoseconds: 5_000_000_000_000)
    private var peers: [ConnectionID: Peer] = [:]
    private var waiting = 0
    private var minimum: Int
    private var maximum: Int
    private var highest: Int
    private let perMinute: Int
    private var begun: [MonotonicTime] = []
    private var epoch = 0
    private var generation: UInt64 = 0
    private var renewalAsked = false
    private let usesTokens: Bool
    private var isHalted = false
    private(set) var fault: String?

    init(seed: UInt64, usesTokens: Bool) {
        random = SeededRandom(seed: seed)
        self.usesTokens = usesTokens
        var policy = GatewayPolicy()
        policy.minimum = Int.random(in: 0...3, using: &random)
        policy.maximum = Int.random(in: max(1, policy.minimum)...5, using: &random)
        policy.connects.perMinute = Int.random(in: 1...30, using: &random)
        policy.shrinkAfter = .seconds(60)
        minimum = policy.minimum
        maximum = policy.maximum
        highest = maximum
        perMinute = policy.connects.perMinute ?? 0
        machine = GatewayMachine(policy, reasons: .apns, usesTokens: usesTokens, seed: seed)
        run(machine.begin(now: now))
    }

    private func check(_ holds: Bool, _ what: @autoclosure () -> String) {
        if !holds, fault == nil { fault = what() }
    }

    // MARK: Execution of actions

    private func run(_ actions: [GatewayMachine.Action]) {
        for action in actions {
            switch action {
            case .lookUp(let id): begin(id)
            case .connect(let id, _):
                guard case .lookingUp? = peers[id]?.phase else { return check(false, "connect \(id) out of turn") }
                peers[id]?.phase = .connecting
            case .drain(let id):
                guard case .open? = peers[id]?.phase else { return check(false, "drain \(id), which is not open") }
                peers[id]?.phase = .draining(now)
            case .close(let id):
                check(peers[id] != nil, "close \(id), which is gone")
                peers[id]?.phase = .closing
            case .giveBack(let id):
                guard case .open? = peers[id]?.phase else { return check(false, "\(id) is not open and gives back") }
            case .ping(let id):
                guard case .open? = peers[id]?.phase else { return check(false, "ping \(id), which is not open") }
            case .renewToken(let refused):
                check(refused <= generation, "a refused token that was never issued")
                check(!isHalted, "a token is renewed while halted")
                renewalAsked = true
            case .useToken(let id): check(peers[id] != nil, "token for \(id), which is gone")
            case .raise(.credentialFailed): isHalted = true
            case .raise(.credentialRotated), .raise(.credentialAccepted): isHalted = false
            case .raise(.down(let id, _, _, _, _)):
                if case .lookingUp? = peers[id]?.phase { peers[id] = nil }
            case .raise: break
            }
        }
        let live = peers.values.count {
            switch $0.phase {
            case .connecting, .open: $0.epoch == epoch
            default: false
            }
        }
        check(live <= maximum, "\(live) live connections, \(maximum) allowed")
        check(machine.outstanding == peers.values.reduce(0) { $0 + $1.given }, "outstanding is miscounted")
        if isHalted {
            check(machine.credit(waiting: 0, now: now) <= 1, "credit for more than an attempt while halted")
            check(live <= 1, "\(live) live connections while halted")
        }
    }

    private func begin(_ id: ConnectionID) {
        check(peers[id] == nil, "\(id) was used before")
        // Attempts that were given up during their look-up are not distinguished here.
        peers[id] = Peer(epoch: epoch)
        begun.append(now)
        let burst = max(4, 2 * highest)
        for (index, first) in begun.enumerated() {
            let allowed = Double(burst) + Double(perMinute) * (now - first).inSeconds / 60 + 1e-6
            check(Double(begun.count - index) <= allowed, "\(begun.count - index) connects since \(first)")
        }
    }

    private func pass(_ duration: Duration) {
        let end = now + duration
        var turns = 0
        while let next = machine.nextDeadline(now: now), next <= end {
            now = max(now, next)
            run(machine.timePassed(now: now))
            turns += 1
            if turns > 10_000 { return check(false, "the timer fires without end") }
            if let after = machine.nextDeadline(now: now), after <= now {
                // A deadline that is still due needs a hand-out, as at the end of a tick.
                hand()
                if let still = machine.nextDeadline(now: now), still <= now {
                    return check(false, "a deadline that does not pass")
                }
            }
        }
        now = end
        run(machine.timePassed(now: now))
        for (id, peer) in peers {
            if case .draining(let since) = peer.phase {
                check(now < since + .seconds(91), "\(id) drains forever")
            }
        }
    }

    private func hand() {
        var left = waiting
        for assignment in machine.assignments(waiting: waiting, now: now) {
            guard let peer = peers[assignment.connection], case .open = peer.phase else {
                return check(false, "deliveries for \(assignment.connection), which is not open")
            }
            if isHalted { check(assignment.count == 1, "more deliveries than an attempt while halted") }
            let ceiling = peer.limit + min(peer.limit, max(16, peer.limit / 4))
            check(peer.given + assignment.count <= ceiling, "\(assignment.connection) is given too many")
            check(assignment.count > 0, "an assignment of nothing")
            machine.gave(assignment.count, to: assignment.connection)
            peers[assignment.connection]?.given += assignment.count
            left -= assignment.count
        }
        check(left >= 0, "more was handed out than waits")
        waiting = max(0, left)
        run(machine.handedOut(waiting: waiting, now: now))
    }

    private func end(_ id: ConnectionID, _ tally: AnswerTally) {
        peers[id]?.given -= tally.ended
        waiting += tally.notProcessed
        run(machine.ended(tally, on: id, now: now))
    }

    private func close(_ id: ConnectionID, _ kind: ConnectionEnd.Kind, _ disposition: Disposition) {
        guard let peer = peers[id] else { return }
        if peer.given > 0 {
            var tally = AnswerTally()
            tally.ended = peer.given
            tally.notProcessed = Int.random(in: 0...peer.given, using: &random)
            tally.unknown = peer.given - tally.notProcessed
            end(id, tally)
        }
        peers[id] = nil
        run(machine.closed(id, end: ConnectionEnd(kind, message: "walk"), disposition: disposition, now: now))
    }

    // MARK: Events

    private func somePeer(_ isMeant: (Phase) -> Bool) -> ConnectionID? {
        peers.filter { isMeant($0.value.phase) }.keys.sorted().randomElement(using: &random)
    }

    private func lookUp(_ id: ConnectionID, well: Bool) {
        if well {
            let actions = machine.addressesFound(["a", "b", "c"], for: id, now: now)
            // The attempt was given up meanwhile.
            if actions.isEmpty { peers[id] = nil }
            run(actions)
        } else {
            run(machine.lookUpFailed(ConnectionFault(.nameNotFound, sentence: "walk"), for: id, now: now))
            peers[id] = nil
        }
    }

    private func answer(_ id: ConnectionID, well: Bool) {
        guard let given = peers[id]?.given, given > 0 else { return }
        var tally = AnswerTally()
        tally.ended = Int.random(in: 1...given, using: &random)
        var left = tally.ended
        func part() -> Int {
            let some = Int.random(in: 0...left, using: &random)
            left -= some
            return some
        }
        if !well, Bool.random(using: &random) {
            tally.failed = part()
            for number in 0..<UInt64(min(tally.failed, 4)) {
                tally.failedDevices.note(Address(words: (number, 0, 0, 0)))
            }
            tally.unknown = part()
            tally.notProcessed = part()
            tally.refused = part()
            let answered = tally.failed + tally.refused > 0
            switch Int.random(in: 0..<24, using: &random) {
            case 0 where tally.failed > 0: tally.pause = .seconds(Int.random(in: -1...900, using: &random))
            case 1 where answered: tally.asksForAnother = true
            case 2 where answered && usesTokens: tally.refusedToken = machine.token(of: id, leftAt: now)
            case 3 where answered: tally.halt = GatewayHalt(.refused, message: "walk")
            default: break
            }
        }
        tally.accepted = left
        end(id, tally)
    }

    private func mint() {
        guard usesTokens else { return }
        generation += 1
        renewalAsked = false
        run(machine.tokenArrived(generation, now: now))
    }

    func step() {
        let kinds: [ConnectionEnd.Kind] = [.unreachable, .broken, .silent, .goAway, .lost, .byUs]
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<15:
            pass(.milliseconds(Int.random(in: 0...3000, using: &random)))
        case 15..<18:
            pass(.seconds(Int.random(in: 0...200, using: &random)))
        case 18..<35:
            if let id = somePeer({ if case .lookingUp = $0 { true } else { false } }) {
                lookUp(id, well: Int.random(in: 0..<8, using: &random) > 0)
            }
        case 35..<50:
            if let id = somePeer({ if case .connecting = $0 { true } else { false } }) {
                let limit = [0, 1, 10, 100, 1000].randomElement(using: &random) ?? 1
                peers[id]?.phase = .open
                peers[id]?.limit = limit
                run(machine.ready(id, limit: limit, now: now))
            }
        case 50..<65:
            waiting += Int.random(in: 0...300, using: &random)
            hand()
        case 65..<82:
            if let id = somePeer({ if case .lookingUp = $0 { false } else { true } }) { answer(id, well: false) }
        case 82..<90:
            if let id = somePeer({ if case .lookingUp = $0 { false } else { true } }) {
                let disposition: Disposition = Int.random(in: 0..<10, using: &random) == 0 ? .halt : .retry
                let kind = kinds.randomElement(using: &random) ?? .lost
                close(id, Int.random(in: 0..<30, using: &random) == 0 ? .credential : kind, disposition)
            }
        case 90:
            if let id = somePeer({ if case .open = $0 { true } else { false } }) { run(machine.alive(id, now: now)) }
        case 91..<93:
            if let id = somePeer({ if case .open = $0 { true } else { false } }) {
                let dispositions = usesTokens ? Disposition.allCases : [.retry, .reconnect, .halt, .drop]
                let disposition = dispositions.randomElement(using: &random) ?? .retry
                run(machine.goAway(id, reason: nil, disposition: disposition, now: now))
            }
        case 93:
            if let id = somePeer({ if case .open = $0 { true } else { false } }) { run(machine.retiring(id, now: now)) }
        case 94:
            if let id = somePeer({ if case .open = $0 { true } else { false } }) {
                let limit = [0, 1, 50, 2000].randomElement(using: &random) ?? 1
                peers[id]?.limit = limit
                run(machine.limitChanged(id, to: limit, now: now))
            }
        case 95:
            minimum = Int.random(in: 0...4, using: &random)
            maximum = max(1, minimum, Int.random(in: 0...6, using: &random))
            highest = max(highest, maximum)
            run(machine.scale(minimum: minimum, maximum: maximum, now: now))
        case 96: rotate()
        default:
            if renewalAsked || generation == 0 { mint() } else { run(machine.tokenFailed("walk", now: now)) }
        }
    }

    private func rotate() {
        epoch += 1
        // Attempts in progress are given up.
        for (id, peer) in peers { if case .lookingUp = peer.phase { peers[id] = nil } }
        run(machine.credentialChanged(usesTokens: usesTokens, now: now))
        if usesTokens { mint() }
    }

    // MARK: Recovery

    func recover() {
        rotate()
        for _ in 0..<400 {
            for id in peers.keys.sorted() {
                guard let peer = peers[id] else { continue }
                switch peer.phase {
                case .lookingUp: lookUp(id, well: true)
                case .connecting:
                    peers[id]?.phase = .open
                    peers[id]?.limit = 100
                    run(machine.ready(id, limit: 100, now: now))
                case .open:
                    peers[id]?.limit = 100
                    run(machine.limitChanged(id, to: 100, now: now))
                    run(machine.alive(id, now: now))
                    answer(id, well: true)
                case .draining:
                    while let given = peers[id]?.given, given > 0 { answer(id, well: true) }
                    close(id, .byUs, .retry)
                case .closing: close(id, .byUs, .retry)
                }
                if fault != nil { return }
            }
            hand()
            pass(.seconds(5))
        }
        let open = peers.values.count { if case .open = $0.phase { $0.epoch == epoch } else { false } }
        check(waiting == 0, "\(waiting) deliveries still wait; \(machine.state(now: now)), \(open) open")
        check(open >= minimum && open == machine.wanted, "\(open) open, \(minimum) to \(maximum), \(machine.wanted)")
        check(peers.count == open, "\(peers.count - open) have not ended")
        check(machine.credit(waiting: 0, now: now) > 0, "no credit")

        run(machine.finish(waiting: waiting, now: now))
        for id in peers.keys.sorted() {
            while let given = peers[id]?.given, given > 0 { answer(id, well: true) }
        }
        hand()
        for id in peers.keys.sorted() { close(id, .byUs, .retry) }
        check(machine.hasEnded, "the gateway does not end")
    }
}
