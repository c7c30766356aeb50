import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushLogic

/// Random walks of the router beside a model that knows only what must never happen: a delivery that ends twice or
/// never, one that is sent twice at a time, an exceeded limit, or a gateway that gets more than its credit.
@Suite struct RouterWalkTests {
    @Test(arguments: [false, true]) func `No walk breaks a promise, and every accepted message completes`(
        _ restarts: Bool
    ) {
        for seed in UInt64(1)...RunKind.rounds(10, long: 100) {
            let walk = RouterWalk(seed: seed, restarts: restarts)
            for _ in 0..<120 where walk.fault == nil { walk.step() }
            walk.recover()
            if let fault = walk.fault {
                Issue.record("seed \(seed): \(fault)")
                return
            }
        }
    }

    /// Parts of the ledger are closed at any time, and opened again with what they have then.
    @Test(arguments: [1, 2] as [UInt64]) func `Nothing is lost or sent twice when parts close and open again`(
        _ half: UInt64
    ) {
        for seed in half * 1000..<half * 1000 + RunKind.rounds(10, long: 100) {
            let walk = RouterWalk(seed: seed, restarts: false, parts: 3)
            for _ in 0..<150 where walk.fault == nil { walk.step() }
            walk.recover()
            if let fault = walk.fault {
                Issue.record("seed \(seed): \(fault)")
                return
            }
            #expect(walk.closings > 0)
            #expect(walk.leftovers() == [])
        }
    }

    /// Messages that are sent, suppressed, cancelled, dropped, expired, paused, refused, or retried, while gateways come
    /// and go.
    @Test(arguments: [101, 102] as [UInt64]) func `A long walk leaves nothing behind`(seed: UInt64) {
        let walk = RouterWalk(seed: seed, restarts: false)
        for _ in 0..<500 where walk.fault == nil { walk.step() }
        walk.recover()
        #expect(walk.fault == nil)
        #expect(walk.leftovers() == [])
    }
}

private final class RouterWalk {
    private typealias F = RouterFixtures

    struct Known: Hashable {
        let seq: UInt64
        let device: DeviceID
    }

    struct Claimed: Hashable {
        let message: MessageFingerprint
        let device: DeviceID
    }

    struct Out: Hashable {
        let message: ObjectIdentifier
        let id: DeliveryID

        init(_ delivery: Delivery) {
            message = ObjectIdentifier(delivery.message)
            id = delivery.deliveryID
        }
    }

    /// One gateway, and its predecessors that still have deliveries.
    struct Gate {
        var isThere = false
        var out: [Delivery] = []
        var taken: UInt64 = 0
        var window: UInt64 = 0
        var older: [(taken: UInt64, out: [Delivery])] = []
        /// The deliveries at the gateway that were not written. Only a recall returns them.
        var unwritten: Set<UInt64> = []
        var index: AppIndex?
        var asked: UInt64 = 0
        var recalled: UInt64 = 0
        var isPaused = false
    }

    enum Part {
        case open
        case closing
        case closed
    }

    enum Question {
        case page(RouterActions.PageRequest)
        case load(RouterActions.LoadRequest)
        case claim([MessageHandle], [ClaimPage])
        case due(RouterActions.DueRequest)
    }

    private var machine: RouterMachine
    private let policy: RouterPolicy
    private let inactive = TestDevices()
    private var random: SeededRandom
    private let restarts: Bool
    private var now = F.begin
    private var wall = WallTime(milliseconds: F.second * 1000)
    private let apps = [AppID("shop")!, AppID("bank")!, AppID("news")!]
    private var gates = [Gate(), Gate(), Gate()]
    private var isHealthy = true
    private var isWell = false

    // The state on disk.
    private var accepted: [UInt64: AcceptedMessage] = [:]
    private var tally: [UInt64: OutcomeCounts] = [:]
    private var waiting: Set<UInt64> = []
    private var scheduled: [(time: UnixSeconds, seq: UInt64)] = []
    private var claims: [Claimed: UInt64] = [:]
    private var ended: Set<Known> = []
    private var suppressed: Set<Known> = []
    private var done: Set<UInt64> = []
    /// By part of the ledger: the number of the next message, and whether it is open.
    private var nextSeq: [UInt64]
    private var parts: [Part]
    private(set) var closings = 0
    private var isSuspended = false
    /// The messages that the ledger has cancelled, and those whose order was answered.
    private var cancelled: Set<UInt64> = []
    private var stopped: [UInt64: (sent: UInt64, underWay: UInt64, cancelled: UInt64)] = [:]
    private var orders: [UInt64: CancelOrder] = [:]
    /// By app: messages with lower numbers may have been dropped.
    private var droppedUpTo: [[UInt64]] = [[], [], []]

    private var questions: [Question] = []
    private var tickets: Set<UInt64> = []
    private var out: Set<Out> = []
    private(set) var fault: String?

    init(seed: UInt64, restarts: Bool, parts count: Int = 1) {
        random = SeededRandom(seed: seed)
        nextSeq = (0..<count).map { EventNumber.base(of: $0) + 1 }
        parts = Array(repeating: .open, count: count)
        self.restarts = restarts
        var policy = RouterPolicy()
        policy.page = Int.random(in: 1...20, using: &random)
        policy.loadedMessages = Int.random(in: 4...40, using: &random)
        policy.underWay = Int.random(in: 1...60, using: &random)
        policy.load = Int.random(in: 1...12, using: &random)
        policy.loadBelow = 12
        policy.loadedBytes = Int.random(in: 4000...60_000, using: &random)
        policy.appQuantum = Int.random(in: 1...50, using: &random)
        policy.laneQuantum = Int.random(in: 1...16, using: &random)
        policy.begunBrief = Int.random(in: 1...12, using: &random)
        policy.begunBroad = Int.random(in: 1...3, using: &random)
        policy.begunSmall = 5
        policy.preparedBroad = 30
        policy.laneFloor = Int.random(in: 1...4, using: &random)
        policy.laneFloorBytes = 2000
        policy.look = Int.random(in: 1...12, using: &random)
        self.policy = policy
        machine = RouterMachine(
            policy, identities: F.identities, inactive: inactive, ofOtherKinds: NoDevices(), now: now, wall: wall)
    }

    /// The largest size of a message here.
    private static let largestMessage = 4096

    private func check(_ holds: Bool, _ what: @autoclosure () -> String) {
        if !holds, fault == nil { fault = what() }
    }

    private func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    /// Returns the members of a dynamic audience. They never change, so that the expected receivers are known.
    private func members(_ app: Int) -> Range<Int> { 0..<(23 + 10 * app) }

    // MARK: Steps

    func step() {
        switch Int.random(in: 0..<20, using: &random) {
        case 0...4: accept(Int.random(in: 1...8, using: &random))
        case 5...8: report(Int.random(in: 0..<3, using: &random))
        case 9...12: answer()
        case 13, 14: pass(.milliseconds(Int.random(in: 1...3000, using: &random)))
        case 15: changeGate(Int.random(in: 0..<3, using: &random))
        case 16 where chance(3):
            isHealthy.toggle()
            machine.healthChanged(isHealthy ? nil : LedgerFault("disk full"))
        case 17 where chance(4):
            for _ in 0..<3 { inactive.devices.insert(F.device(Int.random(in: 0..<50, using: &random))) }
            if chance(2) { inactive.devices = [] }
        case 18 where restarts && chance(8): restart()
        case 19 where chance(2): cancel(Int.random(in: 1...4, using: &random))
        case 18 where chance(3): pause(Int.random(in: 0..<3, using: &random))
        case 19 where chance(4): drop(Int.random(in: 0..<3, using: &random))
        default: break
        }
        if parts.count > 1 {
            if chance(12) { changePart(Int.random(in: 0..<parts.count, using: &random)) }
            if chance(30) { suspend(!isSuspended) }
        }
        // A tick may have several inputs, in any order.
        if chance(4) { return }
        run()
        checkWaits()
    }

    // MARK: Parts

    private func part(of seq: UInt64) -> Int { EventNumber.part(of: seq) }
    private func isOpen(_ seq: UInt64) -> Bool { parts[part(of: seq)] == .open }

    private func suspend(_ isSuspended: Bool) {
        self.isSuspended = isSuspended
        machine.tick(now: now, wall: wall)
        machine.suspended(isSuspended)
    }

    private func changePart(_ part: Int) {
        switch parts[part] {
        case .open:
            parts[part] = .closing
            closings += 1
            machine.tick(now: now, wall: wall)
            machine.closed(PartitionID(part)!)
        case .closing: break
        case .closed: open(part)
        }
    }

    /// Opens a part, perhaps after it was at another node for a while, which knows of it what is on disk.
    private func open(_ part: Int) {
        let isMeant = { (seq: UInt64) in EventNumber.part(of: seq) == part }
        for seq in cancelled where isMeant(seq) && done.insert(seq).inserted {
            waiting.remove(seq)
            scheduled.removeAll { $0.seq == seq }
        }
        for (claim, seq) in claims where isMeant(seq) && accepted[seq]!.needsClaim {
            let known = Known(seq: seq, device: claim.device)
            if !ended.contains(known) || suppressed.contains(known) { claims[claim] = nil }
        }
        for seq in waiting.union(scheduled.map(\.seq)) where isMeant(seq) {
            let old = accepted[seq]!
            // Messages that are read again are other objects, which are not withdrawn.
            let message = Message(
                id: old.message.id, app: old.message.app, priority: old.message.priority, expiry: old.message.expiry,
                payload: old.message.payload, onUnknown: old.message.onUnknown, notBefore: old.message.notBefore)
            accepted[seq] = AcceptedMessage(
                seq: seq, acceptedAt: old.acceptedAt, fingerprint: old.fingerprint, message: message,
                audience: old.audience, needsClaim: old.needsClaim, isScheduled: old.isScheduled)
        }
        parts[part] = .open
        machine.tick(now: now, wall: wall)
        machine.opened(PartitionID(part)!, backlog(of: waiting.filter(isMeant), scheduled.filter { isMeant($0.seq) }))
    }

    private func backlog(of waiting: Set<UInt64>, _ scheduled: [(time: UnixSeconds, seq: UInt64)]) -> LedgerBacklog {
        var lanes: [Lane: [UInt64]] = [:]
        for seq in waiting.sorted() {
            lanes[Lane(of: accepted[seq]!.message, to: accepted[seq]!.audience), default: []].append(seq)
        }
        return LedgerBacklog(
            lanes: lanes.map { ($0.key, $0.value) }, times: waiting.sorted().map { ($0, begin($0)) },
            nextDue: scheduled.map(\.time).min())
    }

    /// The time since which a message waits.
    private func begin(_ seq: UInt64) -> WallTime {
        let message = accepted[seq]!
        return max(message.acceptedAt, message.message.notBefore.map { WallTime($0) } ?? .distantPast)
    }

    /// Compares the times since which messages and deliveries wait with those of the model.
    private func checkWaits() {
        let waits = machine.waits()
        let count = waits.reduce(0) { $0 + $1.messages.count }
        check(count == machine.unfinished, "\(count) messages wait, \(machine.unfinished) are unfinished")
        // The model does not know which messages of a part that is being closed are in memory.
        if parts.contains(.closing) { return }
        for (index, app) in apps.enumerated() {
            let times = waiting.filter { accepted[$0]!.message.app == app && isOpen($0) }.map(begin)
            let wait = waits.first { $0.app == app }
            check(
                wait?.messages.oldest == times.min() && wait?.messages.count ?? 0 == times.count,
                "\(app.name): \(String(describing: wait)) instead of \(times.count) since \(String(describing: times.min()))"
            )
            let away = gates[index].older.reduce(gates[index].out.count) { $0 + $1.out.count }
            check(
                wait?.unanswered.count ?? 0 == away,
                "\(app.name): \(wait?.unanswered.count ?? 0) unanswered instead of \(away)")
        }
    }

    /// Ends all failures. Every accepted message must complete.
    func recover() {
        isWell = true
        isHealthy = true
        machine.healthChanged(nil)
        if isSuspended { suspend(false) }
        for app in gates.indices where !gates[app].isThere { changeGate(app) }
        for app in gates.indices where gates[app].isPaused { pause(app) }
        for _ in 0..<5000 where fault == nil && (!waiting.isEmpty || !scheduled.isEmpty) {
            run()
            for part in parts.indices where parts[part] == .closed { open(part) }
            while !questions.isEmpty, fault == nil { answer() }
            for app in gates.indices { report(app) }
            run()
            if questions.isEmpty, gates.allSatisfy({ $0.out.isEmpty && $0.older.isEmpty }) { pass(.seconds(1)) }
        }
        check(
            waiting.isEmpty && scheduled.isEmpty,
            "\(waiting.count) messages never completed: \(machine.status())"
        )
        run()
        check(orders.isEmpty, "\(orders.count) orders were never answered")
        let status = machine.status()
        check(status.unfinished == 0 && status.loaded == 0 && status.loadedBytes == 0, "left behind: \(status)")
        check(status.apps.allSatisfy { $0.out == 0 && $0.retrying == 0 && $0.lines.isEmpty }, "left behind: \(status)")
    }

    /// Returns what the machine and the claims still hold.
    func leftovers() -> [String] {
        var found = machine.leftovers()
        // A claim is forgotten with the key of the delivery, which a suppressed delivery and one without end have not.
        for (claim, seq) in claims where accepted[seq]?.needsClaim == true {
            let known = Known(seq: seq, device: claim.device)
            if !ended.contains(known) || suppressed.contains(known) { found.append("claim of \(seq)") }
        }
        return found
    }

    private func accept(_ count: Int) {
        let open = parts.indices.filter { parts[$0] == .open }
        if open.isEmpty { return }
        var batch: [AcceptedMessage] = []
        for _ in 0..<count {
            let app = Int.random(in: 0..<3, using: &random)
            let start = Int.random(in: 0..<30, using: &random)
            let audience: Audience =
                switch Int.random(in: 0..<10, using: &random) {
                case 0...4: F.tokens(start..<start + 1)
                case 5: .tokens((0..<Int.random(in: 2...16, using: &random)).map { F.token(start + $0 / 2) })
                case 6: .tokens((0..<Int.random(in: 17...70, using: &random)).map { F.token(start + $0 * 3 / 4) })
                case 7: .devices((0..<Int.random(in: 1...20, using: &random)).map { F.device($0 * 3, app: apps[app]) })
                case 8: .users(["anna"])
                default: .everyone
                }
            let part = parts.count == 1 ? 0 : open.randomElement(using: &random)!
            let seq = nextSeq[part]
            nextSeq[part] += 1
            // Some messages have the id of another one, whose devices must not get them. It is in the same part.
            let known =
                chance(5)
                ? accepted.values.first { $0.message.app == apps[app] && EventNumber.part(of: $0.seq) == part } : nil
            let isFuture = chance(8)
            let expiresAt: Int64? =
                switch Int.random(in: 0..<8, using: &random) {
                case 0: wall.seconds + Int64.random(in: 0...20, using: &random)
                case 1: 0
                default: nil
                }
            let message = Message(
                id: known?.message.id ?? MessageID("m-\(seq)")!, app: apps[app],
                priority: PushPriority.allCases.randomElement(using: &random)!, expiry: Expiry(expiresAt: expiresAt),
                payload: [1, 2, 3], onUnknown: chance(3) ? .drop : .resend,
                notBefore: isFuture ? UnixSeconds(wall.seconds + Int64.random(in: 0...15, using: &random)) : nil)
            let fingerprint = known?.fingerprint ?? MessageFingerprint(seq)
            let needsClaim = known != nil || audience.named != 1 || audience.isDynamic || chance(3)
            let one = AcceptedMessage(
                seq: seq, acceptedAt: wall, fingerprint: fingerprint, message: message,
                audience: audience, needsClaim: needsClaim,
                isScheduled: message.notBefore.map { $0 > wall.unixSeconds } ?? false)
            if !needsClaim, case .tokens(let tokens) = audience {
                claims[Claimed(message: fingerprint, device: F.identities.device(of: apps[app], token: tokens[0]))] =
                    seq
            }
            accepted[seq] = one
            tally[seq] = OutcomeCounts()
            if let time = message.notBefore, time > wall.unixSeconds {
                scheduled.append((time, seq))
            } else {
                waiting.insert(seq)
            }
            batch.append(one)
        }
        machine.tick(now: now, wall: wall)
        machine.accepted(batch)
    }

    private func changeGate(_ app: Int) {
        if !gates[app].out.isEmpty { gates[app].older.append((gates[app].taken, gates[app].out)) }
        gates[app].out = []
        gates[app].isThere.toggle()
        gates[app].taken = 0
        gates[app].window = 0
        gates[app].index = machine.gateChanged(apps[app], isThere: gates[app].isThere)
    }

    /// Cancels some messages, as the ledger does: it returns none of them any more.
    private func cancel(_ count: Int) {
        var batch: [CancelOrder] = []
        for _ in 0..<count {
            let open = waiting.union(scheduled.map(\.seq)).subtracting(cancelled).filter(isOpen)
            guard let seq = open.sorted().randomElement(using: &random), let message = accepted[seq] else { break }
            cancelled.insert(seq)
            let isDue = waiting.contains(seq)
            let order = CancelOrder(
                number: seq,
                parts: [
                    CancelOrder.Part(
                        seq: seq, lane: isDue ? Lane(of: message.message, to: message.audience) : nil,
                        named: named(message)?.count, begin: message.begin)
                ])
            orders[seq] = order
            batch.append(order)
        }
        machine.tick(now: now, wall: wall)
        machine.cancelled(batch)
    }

    private func named(_ message: AcceptedMessage) -> Set<DeviceID>? {
        switch message.audience {
        case .tokens(let tokens): Set(tokens.map { F.identities.device(of: message.message.app, token: $0) })
        case .devices(let devices): Set(devices)
        case .users, .tags, .everyone, .activities: nil
        }
    }

    private func note(_ end: CancelEnd) {
        guard let order = orders.removeValue(forKey: end.number), order.parts.count == end.parts.count else {
            return check(false, "an unknown order was answered: \(end)")
        }
        for part in end.parts {
            switch part.fate {
            case .absent:
                // The ledger completes a message that is on disk only.
                guard !done.contains(part.seq) else { continue }
                waiting.remove(part.seq)
                scheduled.removeAll { $0.seq == part.seq }
                done.insert(part.seq)
            case .stopped(let sent, let underWay, let cancelled, let ended):
                stopped[part.seq] = (sent, underWay, cancelled)
                check(tally[part.seq]?.ended == ended, "\(part.seq): \(ended) is not \(tally[part.seq]!)")
                let open = gates.flatMap { $0.out + $0.older.flatMap(\.out) }
                    .count { $0.message === accepted[part.seq]?.message }
                check(UInt64(open) == underWay, "\(part.seq): \(underWay) under way, not \(open)")
            case .ending: break
            }
        }
    }

    private func pause(_ app: Int) {
        gates[app].isPaused.toggle()
        machine.tick(now: now, wall: wall)
        machine.setPaused(gates[app].isPaused, app: apps[app])
    }

    private func drop(_ app: Int) {
        machine.tick(now: now, wall: wall)
        let count = machine.drop(apps[app])
        check(count == nil || !gates[app].isThere, "\(apps[app]) has a gateway, but its messages were dropped")
        if count != nil { droppedUpTo[app] = nextSeq }
    }

    private func report(_ app: Int) {
        if let older = gates[app].older.popLast() {
            let reports = older.out.map {
                DeliveryReport(of: $0, chance(2) ? nil : .sent(providerID: nil), latency: .zero)
            }
            comeBack(older.out)
            machine.reported(GatewayReport(app: apps[app], deliveries: reports, credit: 0, taken: older.taken))
        }
        guard gates[app].isThere else { return }
        gates[app].out.shuffle(using: &random)
        if gates[app].recalled < gates[app].asked { answerRecall(app) }
        let count = isWell ? gates[app].out.count : Int.random(in: 0...gates[app].out.count, using: &random)
        let back = gates[app].out.suffix(count)
        gates[app].out.removeLast(count)
        let credit = Int.random(in: isWell ? 1...200 : 0...30, using: &random)
        gates[app].window = gates[app].taken + UInt64(credit)
        let reports = back.map { DeliveryReport(of: $0, outcome(of: $0.message), latency: .zero) }
        for delivery in back { gates[app].unwritten.remove(delivery.ticket) }
        comeBack(back)
        machine.tick(now: now, wall: wall)
        machine.reported(
            GatewayReport(
                app: apps[app], deliveries: reports, credit: credit, taken: gates[app].taken,
                recalled: gates[app].recalled))
    }

    private func answerRecall(_ app: Int) {
        gates[app].recalled = gates[app].asked
        let back = gates[app].out.filter { $0.message.isWithdrawn && gates[app].unwritten.contains($0.ticket) }
        let tickets = Set(back.map(\.ticket))
        gates[app].out.removeAll { tickets.contains($0.ticket) }
        gates[app].unwritten.subtract(tickets)
        comeBack(back)
        machine.tick(now: now, wall: wall)
        machine.reported(
            GatewayReport(
                app: apps[app], deliveries: back.map { DeliveryReport(of: $0, nil, latency: .zero) }, credit: 0,
                taken: gates[app].taken, recalled: gates[app].recalled))
        gates[app].window = gates[app].taken
    }

    private func comeBack(_ deliveries: some Sequence<Delivery>) {
        for delivery in deliveries {
            tickets.remove(delivery.ticket)
            out.remove(Out(delivery))
        }
    }

    private func outcome(of message: Message) -> DeliveryOutcome? {
        let busy = Refusal(status: 503, reason: nil)
        return switch Int.random(in: 0..<(isWell ? 12 : 9), using: &random) {
        case 0: .rejected(Refusal(status: 410, reason: .unregistered, timestamp: 1), deactivates: .gone)
        case 1: .rejected(busy, deactivates: nil)
        case 2:
            .refused(busy, retryAfter: .milliseconds(Int.random(in: 0...9000, using: &random)), of: message)
        case 3: .unanswered(.timeout, of: message)
        case 4: .expired
        case 5: nil
        default: .sent(providerID: nil)
        }
    }

    private func pass(_ duration: Duration) {
        now = now + duration
        wall = WallTime(milliseconds: wall.milliseconds + duration.wholeNanoseconds / 1_000_000)
    }

    /// Restarts the process. Everything that is not on disk is lost.
    private func restart() {
        questions = []
        tickets = []
        out = []
        for app in gates.indices { gates[app] = Gate() }
        isHealthy = true
        // The ledger ends what is left of cancelled messages when it is opened.
        for seq in cancelled where done.insert(seq).inserted {
            waiting.remove(seq)
            scheduled.removeAll { $0.seq == seq }
        }
        orders = [:]
        machine = RouterMachine(
            policy, identities: F.identities, inactive: inactive, ofOtherKinds: NoDevices(), now: now, wall: wall)
        machine.backlog(backlog(of: waiting, scheduled))
    }

    // MARK: Requests of the machine

    private func answer() {
        guard !questions.isEmpty else { return }
        let question = questions.remove(at: Int.random(in: 0..<questions.count, using: &random))
        let fails = !isWell && chance(6)
        machine.tick(now: now, wall: wall)
        switch question {
        case .page(let page):
            if fails { return machine.pageFailed(for: page.message, error: "locked") }
            if !isWell, chance(40) { return machine.pageRefused(for: page.message, reason: "too deep") }
            machine.pageCame(registryPage(page), for: page.message)
        case .load(let load):
            if fails { return machine.loaded(.failure(LedgerFault("broken")), lane: load.lane, seqs: load.seqs) }
            let messages = load.seqs.compactMap(read)
            // The ledger may end its answer early.
            let count =
                messages.isEmpty || !chance(3) ? messages.count : Int.random(in: 1...messages.count, using: &random)
            machine.loaded(.success(Array(messages.prefix(count))), lane: load.lane, seqs: load.seqs)
        case .claim(let messages, let pages):
            if fails { return machine.claimed([], for: messages) }
            machine.claimed(pages.map(claim), for: messages)
        case .due(let due):
            if fails { return machine.due(.failure(LedgerFault("broken"))) }
            scheduled.sort { $0.time < $1.time }
            scheduled.removeAll { cancelled.contains($0.seq) && $0.time <= due.time && done.contains($0.seq) }
            let ready = scheduled.filter { $0.time <= due.time && !cancelled.contains($0.seq) && isOpen($0.seq) }
                .prefix(due.limit)
            scheduled.removeAll { one in ready.contains { $0.seq == one.seq } }
            waiting.formUnion(ready.map(\.seq))
            machine.due(
                .success(
                    DueMessages(
                        messages: ready.compactMap { read($0.seq) },
                        next: scheduled.first { !cancelled.contains($0.seq) && isOpen($0.seq) }?.time)))
        }
        run()
    }

    private func read(_ seq: UInt64) -> AcceptedMessage? {
        guard waiting.contains(seq), !cancelled.contains(seq), let message = accepted[seq] else { return nil }
        return AcceptedMessage(
            seq: seq, acceptedAt: message.acceptedAt, fingerprint: message.fingerprint, message: message.message,
            audience: message.audience, needsClaim: message.needsClaim, counts: tally[seq]!)
    }

    private func claim(_ page: ClaimPage) -> [ClaimVerdict] {
        // A part that is being closed claims nothing.
        guard isOpen(page.seq) else { return [] }
        return page.devices.enumerated().map { index, device in
            let key = Claimed(message: page.fingerprint, device: device)
            if ended.contains(Known(seq: page.seq, device: device)) { return .done }
            if let owner = claims[key], owner != page.seq { return .had }
            if index < page.devices.count - page.lookupCount { claims[key] = page.seq }
            return .new
        }
    }

    private func release(_ page: ClaimPage) {
        for device in page.devices {
            check(
                cancelled.contains(page.seq) || !isOpen(page.seq)
                    || suppressed.contains(Known(seq: page.seq, device: device)),
                "the claims of \(page.seq) were released")
            let key = Claimed(message: page.fingerprint, device: device)
            check(claims[key] == page.seq, "a claim of another message was released")
            claims[key] = nil
        }
    }

    private func registryPage(_ request: RouterActions.PageRequest) -> AudiencePage {
        let app = apps.firstIndex(of: request.app)!
        let start = request.after.flatMap { Int($0.text) } ?? 0
        var devices: [AudiencePage.Device] = []
        var unknown: [DeviceID] = []
        let all: [Int]
        if case .devices(let named) = request.audience {
            all = members(app).filter { named.contains(F.device($0, app: request.app)) }
            if start == 0 {
                unknown = Set(named).filter { one in !all.contains { F.device($0, app: request.app) == one } }
            }
        } else {
            all = Array(members(app))
        }
        let end = min(all.count, start + request.limit)
        for number in all[start..<end] {
            devices.append(.init(id: F.device(number, app: request.app), token: F.token(number)))
        }
        return AudiencePage(
            devices: devices, unknown: unknown, next: end < all.count ? AudienceCursor("\(end)") : nil)
    }

    // MARK: Actions of the machine

    private func run() {
        var hasMore = true
        while hasMore, fault == nil {
            machine.tick(now: now, wall: wall)
            let (actions, more) = machine.run()
            hasMore = more
            for record in actions.earlierRecords { note(record) }
            for completed in actions.earlierCompleted { note(completed) }
            for end in actions.cancelEnds { note(end) }
            for record in actions.records { note(record) }
            for completed in actions.completed { note(completed) }
            for page in actions.releases { release(page) }
            for recall in actions.recalls {
                guard let app = gates.firstIndex(where: { $0.index == recall.app }) else {
                    check(false, "a recall without a gateway")
                    break
                }
                gates[app].asked = recall.number
            }
            for part in actions.closed { note(closed: part.number) }
            for submission in actions.submissions { note(submission) }
            check(!isSuspended || actions.submissions.isEmpty, "a delivery was sent without the right to")
            check(isHealthy || actions.submissions.isEmpty, "a delivery was sent while the ledger could not write")
            questions += actions.pages.map { .page($0) } + actions.loads.map { .load($0) }
            if !actions.claims.isEmpty { questions.append(.claim(actions.claimants, actions.claims)) }
            if let due = actions.due { questions.append(.due(due)) }
            check(actions.claims.allSatisfy { (1...policy.page + 20).contains($0.devices.count) }, "too large a page")
            let status = machine.status()
            // Each lane has a floor beyond the pool, and messages that are read to find expired ones are held too.
            let besides = 6 * apps.count * policy.laneFloor + policy.look
            check(status.loaded <= policy.loadedMessages + besides, "\(status.loaded) messages held")
            // A single message may be larger than the limit of its lane.
            check(
                status.loadedBytes <= policy.loadedBytes + besides * Self.largestMessage,
                "\(status.loadedBytes) bytes held")
            check(machine.surplus == 0, "the machine forgot a delivery at a gateway")
        }
    }

    private func note(closed part: Int) {
        check(parts[part] == .closing, "part \(part) was closed without an order")
        parts[part] = .closed
        // The ledger forgets a part with its claims. The keys of deliveries that have ended are stored.
        claims = claims.filter { claim, seq in
            self.part(of: seq) != part || ended.contains(Known(seq: seq, device: claim.device))
        }
        let left = gates.flatMap { $0.out + $0.older.flatMap(\.out) }.filter { delivery in
            accepted.contains { $0.value.message === delivery.message && EventNumber.part(of: $0.key) == part }
        }
        check(left.isEmpty, "\(left.count) deliveries of part \(part) are under way after it was closed")
    }

    private func note(_ record: DeliveryRecord) {
        check(parts[part(of: record.seq)] != .closed, "a record of a closed part")
        check(waiting.contains(record.seq), "\(record.seq) is not waiting: \(record.outcome)")
        guard let final = record.outcome.final else { return }
        let isNew = ended.insert(Known(seq: record.seq, device: record.device)).inserted
        check(isNew, "a delivery of \(record.seq) ended twice: \(record.outcome)")
        if final == .suppressed { suppressed.insert(Known(seq: record.seq, device: record.device)) }
        tally[record.seq]?.add(final)
    }

    private func note(_ completed: CompletedMessage) {
        let seq = completed.seq
        check(parts[part(of: seq)] != .closed, "\(seq) completed in a closed part")
        guard let message = accepted[seq], done.insert(seq).inserted, waiting.remove(seq) != nil else {
            return check(false, "\(seq) completed twice or was never accepted")
        }
        var counts = completed.counts
        counts.cancelled = 0
        check(counts == tally[seq], "\(seq): \(completed.counts) is not \(tally[seq]!)")
        check(completed.counts.cancelled == 0 || cancelled.contains(seq), "\(seq) was not cancelled")
        if let stopped = stopped[seq] {
            check(counts.ended <= stopped.sent + stopped.underWay + counts.ended - UInt64(counts.sent), "\(seq)")
            check(
                UInt64(completed.counts.cancelled) >= stopped.cancelled
                    && UInt64(completed.counts.cancelled) <= stopped.cancelled + stopped.underWay + UInt64(policy.page),
                "\(seq): \(completed.counts) after \(stopped)")
            guard let named = named(message) else { return }
            return check(completed.counts.total == UInt64(named.count), "\(seq): \(completed.counts) of \(named.count)")
        }
        if completed.failure == .dropped {
            let app = apps.firstIndex(of: message.message.app)!
            check(seq < droppedUpTo[app][part(of: seq)], "\(seq) was accepted after the drop")
            check(completed.counts.expired > 0 || message.audience.isDynamic, "\(seq) ended before the drop")
        }
        // The search for devices ended early because the registry refused the audience or the message was dropped.
        if completed.failure != nil { return }
        let expected: Set<DeviceID>
        switch message.audience {
        case .tokens(let tokens): expected = Set(tokens.map { F.identities.device(of: message.message.app, token: $0) })
        case .devices(let devices): expected = Set(devices)
        case .users, .tags, .everyone, .activities:
            // The search for devices ended when the message expired.
            if let end = message.message.expiry.expiresAt, end == 0 || wall.seconds >= end { return }
            let app = message.message.app
            expected = Set(members(apps.firstIndex(of: app)!).map { F.device($0, app: app) })
        }
        check(Int(completed.counts.total) == expected.count, "\(seq): \(completed.counts) of \(expected.count)")
        check(expected.allSatisfy { ended.contains(Known(seq: seq, device: $0)) }, "\(seq): a device was forgotten")
    }

    private func note(_ submission: RouterActions.Submission) {
        guard let first = submission.deliveries.first, let app = apps.firstIndex(of: first.message.app) else {
            return check(false, "an empty submission")
        }
        check(gates[app].isThere, "\(apps[app]) has no gateway")
        check(!gates[app].isPaused, "\(apps[app]) is paused")
        gates[app].taken += UInt64(submission.deliveries.count)
        check(gates[app].taken <= gates[app].window, "more than the credit of \(apps[app])")
        for delivery in submission.deliveries {
            check(delivery.message.app == apps[app], "a delivery of another app")
            check(!delivery.message.expiry.isPast(at: wall) && !delivery.isExpired(at: wall), "an expired delivery")
            if delivery.ticket & 15 == 0 {
                let id = DeliveryID.derived(app: apps[app], message: delivery.message.id, token: delivery.token)
                check(delivery.deliveryID == id, "a wrong apns-id")
            }
            check(tickets.insert(delivery.ticket).inserted, "two deliveries with one ticket")
            check(out.insert(Out(delivery)).inserted, "a delivery sent twice at a time")
            check(!delivery.message.isWithdrawn, "a delivery of a cancelled message")
            if parts.count > 1 {
                let seq = accepted.first { $0.value.message === delivery.message }?.key
                check(seq.map(isOpen) ?? false, "a delivery of a part that is not open")
            }
            if chance(2) { gates[app].unwritten.insert(delivery.ticket) }
            gates[app].out.append(delivery)
        }
        check(gates[app].out.count <= policy.underWay, "too many under way")
    }
}
