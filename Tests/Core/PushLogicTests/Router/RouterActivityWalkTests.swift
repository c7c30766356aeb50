import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushLogic

/// Random walks of messages to Live Activities: with gateways that take, refuse, lose and return them, addresses that come
/// and go, cancels, restarts at any moment, and a clock that is set back.
@Suite struct RouterActivityWalkTests {
    @Test func `No older state is sent after a newer one, and each message ends once`() {
        var counts = OutcomeCounts()
        var cancelled = 0
        for seed in UInt64(1)...RunKind.rounds(200, long: 5000) {
            let walk = ActivityWalk(seed: seed)
            for _ in 0..<150 where walk.fault == nil { walk.step() }
            walk.recover()
            if let fault = walk.fault {
                Issue.record("seed \(seed): \(fault)")
                return
            }
            counts.sent += walk.counts.sent
            counts.superseded += walk.counts.superseded
            counts.expired += walk.counts.expired
            counts.unknown += walk.counts.unknown
            counts.rejected += walk.counts.rejected
            cancelled += walk.cancelled
        }
        // The walks reach all outcomes.
        #expect(
            counts.sent > 100 && counts.superseded > 100 && counts.expired > 100 && counts.unknown > 0
                && counts.rejected > 10 && cancelled > 100, "\(counts), \(cancelled) cancelled")
    }
}

private final class ActivityWalk {
    private typealias F = RouterFixtures

    private var machine: RouterMachine
    private var waits = TestActivityWaits()
    private var random: SeededRandom
    private var now = F.begin
    private var wall = WallTime(milliseconds: F.second * 1000)
    private let names = ["one", "two", "three"]
    /// The activities that have an address, and those that have ended.
    private var addressed: Set<String> = []
    private var ended: Set<String> = []
    /// What is on disk.
    private var waiting: [UInt64: AcceptedMessage] = [:]
    private var tally: [UInt64: OutcomeCounts] = [:]
    private var next: UInt64 = 1
    private var out: [Delivery] = []
    private var pages: [RouterActions.PageRequest] = []
    private var loads: [RouterActions.LoadRequest] = []
    private var claims: [([MessageHandle], [ClaimPage])] = []
    private var taken: UInt64 = 0
    private var recalled: UInt64 = 0
    /// The messages that are cancelled and not done. The ledger does not return them any more.
    private var leaving: Set<UInt64> = []
    private(set) var cancelled = 0
    /// The newest message of each activity that was given to the gateway, and the newest time that it had.
    private var sent: [String: (seq: UInt64, time: String)] = [:]
    /// All messages that were accepted.
    private var accepted: [String: [(seq: UInt64, isEnd: Bool)]] = [:]
    /// The updates that were accepted behind an end that waited, with the end, and the ends that need not be sent.
    private var behindEnd: [UInt64: UInt64] = [:]
    private var undone: Set<UInt64> = []
    /// The messages that were cancelled, and those that ended because of another one, with that one.
    private var revoked: Set<UInt64> = []
    private var endedBy: [UInt64: UInt64] = [:]
    private var stored = StoredTimes()
    private var hasGate = true
    private var credit = 2
    private(set) var counts = OutcomeCounts()
    private(set) var fault: String?

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        machine = Self.machine(now, wall, waits)
        start()
    }

    private static func machine(
        _ now: MonotonicTime, _ wall: WallTime, _ waits: TestActivityWaits
    ) -> RouterMachine {
        var policy = RouterPolicy()
        policy.load = 3
        policy.loadBelow = 4
        policy.look = 2
        policy.loadedMessages = 6
        return RouterMachine(
            policy, identities: F.identities, inactive: TestDevices(), ofOtherKinds: TestDevices(), now: now,
            wall: wall, activityWaits: waits)
    }

    private func start() {
        machine.tick(now: now, wall: wall)
        _ = machine.gateChanged(F.shop, isThere: true)
        machine.reported(GatewayReport(app: F.shop, deliveries: [], credit: credit, taken: 0))
    }

    private func check(_ holds: Bool, _ text: @autoclosure () -> String) {
        if !holds, fault == nil { fault = text() }
    }

    private func name(of message: AcceptedMessage) -> String {
        if case .activities(let names) = message.audience { names[0] } else { "" }
    }

    // MARK: Steps

    func step() {
        machine.tick(now: now, wall: wall)
        switch Int.random(in: 0..<26, using: &random) {
        case 0...3: accept()
        case 4...8: answerGateway()
        case 9...11: answerPage()
        case 12...13: answerLoad()
        case 14...18: answerClaim()
        case 19: pass(.seconds(Int64.random(in: 0...200, using: &random)))
        case 20...21: changeAddresses()
        case 22:
            if !out.isEmpty || Bool.random(using: &random) {
                credit = Int.random(in: 0...3, using: &random)
                report([])
            } else {
                changeGate()
            }
        case 24...25: cancel()
        default: if Int.random(in: 0..<6, using: &random) == 0 { restart() } else { setBack() }
        }
        run()
    }

    private func accept() {
        let name = names.randomElement(using: &random)!
        let event: ActivityPart.Event = Int.random(in: 0..<12, using: &random) == 0 ? .end : .update
        let text = #"{"aps":{"timestamp":1700000000,"event":"update","content-state":{}}}"#
        let message = Message(
            id: MessageID("m-\(next)")!, app: F.shop, kind: .activity,
            priority: Bool.random(using: &random) ? .ten : .five,
            expiry: Expiry(expiresAt: Int.random(in: 0..<10, using: &random) == 0 ? wall.seconds + 100 : nil),
            payload: Array(text.utf8), activity: ActivityPart(event, isStamped: true))
        let accepted = AcceptedMessage(
            seq: next, acceptedAt: wall, fingerprint: F.identities.message(of: F.shop, id: message.id),
            message: message,
            audience: .activities([name]), needsClaim: true)
        noteOrder(of: accepted, to: name, isEnd: event == .end)
        waiting[next] = accepted
        next += 1
        // The ledger counts a message before the router has it, and may have stored more than that.
        let wait = ActivityWait(message, to: F.identities.activity(of: F.shop, name: name))
        if waits.state.admit(wait) { waits.state.stored(wait.activity, as: accepted.seq) }
        machine.accepted([accepted])
    }

    private func noteOrder(of accepted: AcceptedMessage, to name: String, isEnd: Bool) {
        stored.note(accepted.acceptedAt, of: accepted.seq)
        self.accepted[name, default: []].append((accepted.seq, isEnd))
        let end = self.accepted[name]?.last { $0.isEnd }?.seq ?? 0
        if !isEnd, waiting[end] != nil, !leaving.contains(end) { behindEnd[accepted.seq] = end }
    }

    private func changeGate() {
        hasGate.toggle()
        taken = 0
        _ = machine.gateChanged(F.shop, isThere: hasGate)
        report([])
    }

    private func answerGateway() {
        guard let index = out.indices.randomElement(using: &random) else { return }
        let delivery = out.remove(at: index)
        let outcome: DeliveryOutcome? =
            switch Int.random(in: 0..<8, using: &random) {
            case 0: .retry(Refusal(status: 503, reason: nil), after: .seconds(30))
            case 1: .unknown(.connectionLost, isFinal: false)
            case 2: delivery.message.isWithdrawn ? nil : .sent(providerID: nil)
            case 3: .rejected(Refusal(status: 400, reason: nil), deactivates: nil)
            default: .sent(providerID: nil)
            }
        report([DeliveryReport(of: delivery, outcome, latency: .zero)])
    }

    private func report(_ reports: [DeliveryReport]) {
        machine.reported(
            GatewayReport(app: F.shop, deliveries: reports, credit: credit, taken: taken, recalled: recalled))
    }

    /// Cancels one or two messages with one order each.
    private func cancel() {
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            let open = waiting.keys.filter { !leaving.contains($0) }.sorted()
            guard let seq = open.randomElement(using: &random), let message = waiting[seq] else { return }
            leaving.insert(seq)
            cancelled += 1
            undone.insert(seq)
            revoked.insert(seq)
            let part = CancelOrder.Part(
                seq: seq, lane: Lane(activitiesOf: F.shop), named: nil, begin: message.begin)
            machine.cancelled([CancelOrder(number: seq, parts: [part])])
        }
    }

    private func answerPage() {
        guard let index = pages.indices.randomElement(using: &random) else { return }
        let request = pages.remove(at: index)
        guard case .activities(let names) = request.audience, let number = self.names.firstIndex(of: names[0]) else {
            return check(false, "a page of another audience")
        }
        let device = AudiencePage.Device(id: F.device(number), token: F.token(number))
        let isThere = addressed.contains(names[0])
        machine.pageCame(
            AudiencePage(
                devices: isThere ? [device] : [], inactive: !isThere && ended.contains(names[0]) ? [device.id] : [],
                next: nil), for: request.message)
    }

    private func answerLoad() {
        guard !loads.isEmpty else { return }
        let load = loads.removeFirst()
        let read = load.seqs.compactMap { seq in
            (leaving.contains(seq) ? nil : waiting[seq]).map { message in
                AcceptedMessage(
                    seq: seq, acceptedAt: message.acceptedAt, fingerprint: message.fingerprint,
                    message: Message(
                        id: message.message.id, app: F.shop, kind: .activity, priority: message.message.priority,
                        expiry: message.message.expiry, payload: message.message.payload,
                        activity: message.message.activity),
                    audience: message.audience, needsClaim: true, counts: tally[seq] ?? OutcomeCounts())
            }
        }
        // The ledger may end its answer early.
        let count = Int.random(in: 0..<3, using: &random) > 0 ? read.count : Int.random(in: 1...3, using: &random)
        machine.loaded(.success(Array(read.prefix(count))), lane: load.lane, seqs: load.seqs)
    }

    private func answerClaim() {
        guard !claims.isEmpty else { return }
        let (messages, pages) = claims.removeFirst()
        machine.claimed(pages.map { $0.devices.map { _ in .new } }, for: messages)
    }

    private func changeAddresses() {
        let name = names.randomElement(using: &random)!
        if addressed.contains(name) {
            guard Int.random(in: 0..<5, using: &random) == 0 else { return }
            addressed.remove(name)
            if Bool.random(using: &random) { ended.insert(name) }
        } else {
            ended.remove(name)
            addressed.insert(name)
            machine.registered(Bool.random(using: &random) ? .of(F.shop, name: name) : .ofUnknown)
        }
    }

    private func pass(_ duration: Duration) {
        now = now + duration
        wall = wall.adding(milliseconds: duration.wholeMilliseconds)
        machine.tick(now: now, wall: wall)
    }

    private func setBack() {
        if Int.random(in: 0..<10, using: &random) == 0 { wall = wall.adding(milliseconds: -50_000) }
    }

    /// What was in flight is unknown to the next process, and waits on disk as before.
    private func restart() {
        waits = TestActivityWaits()
        machine = Self.machine(now, wall, waits)
        (out, pages, loads, claims, taken, recalled) = ([], [], [], [], 0, 0)
        for seq in leaving { end(seq) }
        hasGate = true
        start()
        var backlog = LedgerBacklog(
            lanes: waiting.isEmpty ? [] : [(Lane(activitiesOf: F.shop), waiting.keys.sorted())],
            times: waiting.keys.sorted().map { ($0, waiting[$0]!.acceptedAt) })
        backlog.stored = stored
        machine.backlog(backlog)
        // What had ended by then is not known any more.
        behindEnd = behindEnd.filter { waiting[$0.value] != nil }
    }

    // MARK: What the machine does

    private func run() {
        var goesOn = true
        var rounds = 0
        while goesOn, fault == nil {
            rounds += 1
            if rounds > 1000 { return check(false, "the machine does not come to rest") }
            machine.tick(now: now, wall: wall)
            let (actions, hasMore) = machine.run()
            goesOn = hasMore
            for record in actions.earlierRecords + actions.records { note(record) }
            for completed in actions.earlierCompleted + actions.completed { note(completed) }
            for submission in actions.submissions { for delivery in submission.deliveries { note(delivery) } }
            for end in actions.cancelEnds { note(end) }
            if let number = actions.recalls.last?.number {
                recalled = number
                report([])
                goesOn = true
            }
            pages += actions.pages
            loads += actions.loads
            if !actions.claims.isEmpty { claims.append((actions.claimants, actions.claims)) }
        }
        checkWaits()
    }

    /// What waits and has no address counts, and nothing else.
    private func checkWaits() {
        let count = waits.state.load(of: F.shop).count
        let open = Set(waiting.values.map { name(of: $0) })
        check(
            waits.state.waiting <= open.count,
            "\(waits.state.waiting) activities wait, and messages to \(open.count)")
        check(count <= waits.state.waiting, "\(count) activities count, and \(waits.state.waiting) wait")
        // Messages to an activity without an address wait on disk, and nothing else.
        let parked = machine.activities.waiting.values.reduce(0, +)
        check(count >= parked, "\(count) activities count, and \(parked) messages wait for an address")
    }

    private func note(_ record: DeliveryRecord) {
        check(waiting[record.seq] != nil, "\(record.seq) has an outcome after its end")
        if let final = record.outcome.final {
            tally[record.seq, default: OutcomeCounts()].add(final)
            counts.add(final)
        }
        if record.outcome.final == .expired { undone.insert(record.seq) }
        if record.outcome == .expiredBecause(.ended) { endedBy[record.seq] = behindEnd[record.seq] }
        if case .superseded(_, let newer) = record.outcome {
            check(newer > record.seq, "\(record.seq) is superseded by the older \(newer)")
            endedBy[record.seq] = newer
        }
    }

    private func note(_ end: CancelEnd) {
        // What is not in memory ends in the ledger.
        for part in end.parts where part.fate == .absent { self.end(part.seq) }
    }

    private func end(_ seq: UInt64) {
        waiting[seq] = nil
        tally[seq] = nil
        leaving.remove(seq)
    }

    private func note(_ completed: CompletedMessage) {
        guard waiting[completed.seq] != nil else {
            return check(false, "\(completed.seq) is completed twice")
        }
        defer { end(completed.seq) }
        if leaving.contains(completed.seq) {
            return check(completed.counts.total <= 1, "\(completed.seq) ended \(completed.counts.total) times")
        }
        check(completed.counts == tally[completed.seq] ?? OutcomeCounts(), "\(completed.seq): \(completed.counts)")
        check(completed.counts.total == 1, "\(completed.seq) ended \(completed.counts.total) times")
    }

    private func note(_ delivery: Delivery) {
        let id = delivery.message.id.text
        guard let seq = UInt64(id.dropFirst(2)), let message = waiting[seq] else {
            return check(false, "\(id) is sent after its end")
        }
        let name = name(of: message)
        let time = String(decoding: delivery.message.payload[20..<30], as: UTF8.self)
        check(
            !out.contains { other in
                waiting[UInt64(other.message.id.text.dropFirst(2))!].map { self.name(of: $0) } == name
            },
            "two messages to \(name) are in flight")
        if let last = sent[name] {
            check(seq >= last.seq, "\(seq) to \(name) is sent after \(last.seq)")
            check(time >= last.time, "\(seq) to \(name) has the time \(time) after \(last.time)")
        }
        checkOrder(of: message, to: name)
        sent[name] = (seq, time)
        taken += 1
        out.append(delivery)
    }

    /// Returns whether neither a message nor the one because of which it ended was cancelled.
    private func isInForce(_ seq: UInt64) -> Bool {
        if revoked.contains(seq) { return false }
        return endedBy[seq].map(isInForce) ?? true
    }

    /// Nothing newer was accepted and not cancelled, and no end before it.
    private func checkOrder(of message: AcceptedMessage, to name: String) {
        let isEnd = message.message.activity?.event == .end
        let newer = accepted[name]?.last { ($0.isEnd || !isEnd) && isInForce($0.seq) }?.seq ?? 0
        check(newer <= message.seq, "\(message.seq) to \(name) is sent although there is \(newer)")
        if let end = behindEnd[message.seq] {
            check(undone.contains(end), "\(message.seq) to \(name) is sent behind the end \(end)")
        }
    }

    /// Lets everything go well until nothing waits.
    func recover() {
        if !hasGate { changeGate() }
        credit = 100
        var rounds = 0
        // The numbers of cancelled messages leave their lane when it is read.
        while fault == nil, !waiting.isEmpty || machine.leftovers() != [], rounds < 2000 {
            rounds += 1
            machine.tick(now: now, wall: wall)
            report([])
            run()
            while !pages.isEmpty { answerPage() }
            while !loads.isEmpty { answerLoad() }
            while !claims.isEmpty { answerClaim() }
            let all = out
            out = []
            report(all.map { DeliveryReport(of: $0, .sent(providerID: nil), latency: .zero) })
            run()
            pass(.seconds(20))
            run()
        }
        check(waiting.isEmpty, "\(waiting.keys.sorted()) never end")
        if fault == nil { check(machine.leftovers() == [], "\(machine.leftovers())") }
        let left = waits.state.load(of: F.shop)
        check(left == (0, 0) && waits.state.waiting == 0, "\(left) activities wait although no message does")
    }
}
