import PushLogic
import PushLoop
import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// Cancellations that race with answers and commits: a router, a gateway and a ledger whose calls reach each other at any
/// time, each in its order.
@Suite struct CancelRaceTests {
    @Test(arguments: [false, true])
    func `Each message is completed once, and its cancellation is answered with what happened`(
        _ isSpilled: Bool
    ) async throws {
        for seed in UInt64(1)...RunKind.rounds(6, long: 200) {
            try await withLedgerFolder { folder in
                let race = try CancelRace(in: folder, seed: seed, loaded: isSpilled ? 2 : 1000)
                for _ in 0..<80 { race.step() }
                race.finish()
                let faults = try race.faults()
                #expect(faults == [], "seed \(seed)")
            }
        }
    }
}

/// The calls of a router to its ledger, in their order.
private final class Outbox: Ledger, @unchecked Sendable {
    // Unchecked: each test uses its own instance, on one thread at a time.
    var calls: [LedgerWork] = []

    func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) {
        calls.append(.accept(group, reply))
    }
    func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) {
        calls.append(.record(deliveries, completed))
    }
    func cancel(_ requests: [CancelRequest], reply: @escaping @Sendable ([Cancellation]) -> Void) {
        calls.append(.cancel(requests, reply))
    }
    func ended(_ cancels: [CancelEnd], releasing claims: [ClaimPage]) { calls.append(.endCancels(cancels, claims)) }
    func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) { calls.append(.note(events, done)) }
    func claim(_ pages: [ClaimPage], reply: @escaping @Sendable ([[ClaimVerdict]]) -> Void) {
        calls.append(.claim(pages, reply))
    }
    func load(_ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void) {
        calls.append(.load(seqs, reply))
    }
    func due(
        at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void
    ) { calls.append(.due(time, limit, reply)) }
}

/// What waits for the router, in its order, and the events that were published.
private final class Inbox: LedgerWitness, @unchecked Sendable {
    // Unchecked: each test uses its own instance, on one thread at a time.
    var inputs: [(inout RouterMachine) -> Void] = []
    var segments: [LogSegment] = []

    func accepted(_ messages: [AcceptedMessage]) { inputs.append { $0.accepted(messages) } }
    func cancelled(_ orders: [CancelOrder]) { inputs.append { $0.cancelled(orders) } }
    func committed(_ segments: [LogSegment]) { self.segments += segments }
    func healthChanged(_ fault: LedgerFault?) {}
}

private final class CancelRace {
    private let core: LedgerCore
    private var router: RouterMachine
    private let outbox = Outbox()
    private let inbox = Inbox()
    private var random: SeededRandom
    private let wall = Locked<Int64>(1_800_000_000_000)
    private var now = MonotonicTime(nanoseconds: 1_000_000_000)

    private var sizes: [String: Int] = [:]
    private let answers = Locked<[String: [Cancellation]]>([:])
    /// The deliveries at the gateway, those that were written, and those that were answered.
    private var waiting: [Delivery] = []
    private var written: [Delivery] = []
    private var sent: [String: Int] = [:]
    private var taken: UInt64 = 0
    private var asked: UInt64 = 0
    private var broken: [String] = []

    init(in folder: String, seed: UInt64, loaded: Int) throws {
        var settings = SQLiteLedger.Settings(directory: folder)
        settings.clock = { [wall] in WallTime(milliseconds: wall.withLock { $0 }) }
        core = try LedgerCore.open(settings).0
        core.witness = inbox
        random = SeededRandom(seed: seed)
        var policy = RouterPolicy()
        policy.loadedMessages = loaded
        policy.laneFloor = loaded
        policy.load = loaded
        router = RouterMachine(
            policy, identities: core.machine.identities, inactive: NoDevices(), ofOtherKinds: NoDevices(), now: now,
            wall: WallTime(milliseconds: 1_800_000_000_000))
        _ = router.gateChanged(LedgerScene.shop, isThere: true)
        report([])
    }

    // MARK: Steps

    func step() {
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1: push()
        case 2, 3: cancel()
        case 4, 5: commit(Int.random(in: 1...4, using: &random))
        case 6, 7: turn(Int.random(in: 1...4, using: &random))
        case 8, 9: write(Int.random(in: 1...6, using: &random))
        case 10: answer(Int.random(in: 1...6, using: &random))
        default: pass()
        }
    }

    /// Lets everything come to its end.
    func finish() {
        for _ in 0..<200 {
            commit(.max)
            turn(.max)
            write(.max)
            answer(.max)
            pass()
        }
    }

    private func push() {
        let name = "m\(sizes.count)"
        let count = Int.random(in: 1...3, using: &random)
        sizes[name] = count
        let isLater = Int.random(in: 0..<6, using: &random) == 0
        let tokens = (0..<count).map { 10 * sizes.count + $0 }
        let due = isLater ? wall.withLock { $0 } / 1000 + 3 : nil
        outbox.accept([PushStoreTests.push(name, to: tokens, notBefore: due)]) { _ in }
    }

    private func cancel() {
        guard let name = sizes.keys.sorted().suffix(6).randomElement(using: &random) else { return }
        outbox.cancel(CancelRequest(MessageID(name)!, of: LedgerScene.shop, by: nil)) { [answers] answer in
            answers.withLock { $0[name, default: []].append(answer) }
        }
    }

    private func commit(_ count: Int) {
        let group = outbox.calls.prefix(count)
        outbox.calls.removeFirst(group.count)
        if !group.isEmpty { core.process(group) }
    }

    private func turn(_ count: Int) {
        let inputs = inbox.inputs.prefix(count)
        inbox.inputs.removeFirst(inputs.count)
        tick()
        for input in inputs { input(&router) }
        var hasMore = true
        while hasMore {
            tick()
            let (actions, more) = router.run()
            hasMore = more
            carryOut(actions)
        }
    }

    private func tick() { router.tick(now: now, wall: WallTime(milliseconds: wall.withLock { $0 })) }

    private func carryOut(_ actions: RouterActions) {
        actions.record(in: outbox)
        for submission in actions.submissions {
            waiting += submission.deliveries
            taken += UInt64(submission.deliveries.count)
        }
        if let recall = actions.recalls.last {
            asked = recall.number
            let back = waiting.filter(\.message.isWithdrawn)
            waiting.removeAll(where: \.message.isWithdrawn)
            report(back.map { DeliveryReport(of: $0, nil, latency: .zero) })
        }
        for load in actions.loads {
            outbox.load(load.seqs) { [inbox] result in
                inbox.inputs.append { $0.loaded(result, lane: load.lane, seqs: load.seqs) }
            }
        }
        if !actions.claims.isEmpty {
            outbox.claim(actions.claims) { [inbox] verdicts in
                inbox.inputs.append { $0.claimed(verdicts, for: actions.claimants) }
            }
        }
        if let due = actions.due {
            outbox.due(at: due.time, limit: due.limit) { [inbox] result in inbox.inputs.append { $0.due(result) } }
        }
    }

    /// Writes what the gateway has, unless it was cancelled.
    private func write(_ count: Int) {
        let next = waiting.prefix(count)
        waiting.removeFirst(next.count)
        var back: [DeliveryReport] = []
        for delivery in next {
            if delivery.message.isWithdrawn {
                back.append(DeliveryReport(of: delivery, nil, latency: .zero))
                continue
            }
            let name = delivery.message.id.text
            if answers.withLock({ $0[name]?.contains { if case .cancelled = $0 { true } else { false } } ?? false }) {
                broken.append("\(name) was sent after its cancellation was answered")
            }
            written.append(delivery)
        }
        if !back.isEmpty { report(back) }
    }

    private func answer(_ count: Int) {
        let ended = written.prefix(count)
        written.removeFirst(ended.count)
        if ended.isEmpty { return }
        for delivery in ended { sent[delivery.message.id.text, default: 0] += 1 }
        report(ended.map { DeliveryReport(of: $0, .sent(providerID: nil), latency: .zero) })
    }

    private func report(_ deliveries: [DeliveryReport]) {
        let report = GatewayReport(
            app: LedgerScene.shop, deliveries: deliveries, credit: 100, taken: taken, recalled: asked)
        inbox.inputs.append { $0.reported(report) }
    }

    private func pass() {
        wall.withLock { $0 += 1000 }
        now = now + .seconds(1)
    }

    // MARK: What must hold

    func faults() throws -> [String] {
        var found = broken
        let events = try inbox.segments.flatMap { try $0.events() }
        for (name, size) in sizes.sorted(by: { $0.key < $1.key }) {
            let own = events.filter { $0.message == name }
            let completed = own.filter { $0.topic.hasSuffix("/completed") }
            let sent = sent[name] ?? 0
            if completed.count != 1 { found.append("\(name) was completed \(completed.count) times: \(own)") }
            let details = completed.first?.details ?? ""
            if own.count(where: { $0.topic == "delivery/shop/sent" }) != sent || !details.contains("\"sent\":\(sent)") {
                found.append("\(name) was sent \(sent) times: \(details)")
            }
            for answer in answers.withLock({ $0[name] ?? [] }) {
                switch answer {
                case .cancelled(let counts):
                    if counts != CancelCounts(sent: UInt64(sent), cancelled: UInt64(size - sent)) {
                        found.append("\(name): \(counts), but \(sent) of \(size) were sent")
                    }
                case .tooLate where sent == size: break
                default: found.append("\(name): \(answer), but \(sent) of \(size) were sent")
                }
            }
        }
        return found
    }
}
