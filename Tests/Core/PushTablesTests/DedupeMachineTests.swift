import PushModel
import Testing

@testable import PushLogic

@Suite struct DedupeMachineTests {
    private typealias N = DedupeNames
    private static let window: Int64 = 8000

    private func engine(limit: Int = .max) -> DedupeEngine {
        DedupeEngine(window: .milliseconds(Self.window), limit: limit)
    }

    private func request(_ facts: DedupeRequest, isScheduled: Bool = false) -> DedupeEngine.Request {
        DedupeEngine.Request(facts: facts, isScheduled: isScheduled)
    }

    private func key(_ facts: DedupeRequest, isSingle: Bool) -> AcceptedKey {
        AcceptedKey(
            fingerprint: facts.fingerprint, content: facts.content, audience: facts.audience, isSingle: isSingle)
    }

    private func outcome(
        _ seq: UInt64, _ id: Int, _ device: Int, _ end: FinalOutcome = .sent, acceptedAt: Int64 = 0
    ) -> DedupeEngine.Outcome {
        DedupeEngine.Outcome(seq: seq, delivery: N.delivery(id, device), end: end, acceptedAt: acceptedAt)
    }

    // MARK: Decisions

    /// What a request is decided, after one message with content 2 for device 1 and one for all devices.
    enum Expected {
        case new(isSingle: Bool), same(DedupeDecision)
    }

    @Test(arguments: [
        (N.request(3), Expected.new(isSingle: true)),
        (N.request(3, to: [1, 2]), .new(isSingle: false)),
        (N.request(3, to: []), .new(isSingle: false)),
        (N.request(3, isExpired: true), .same(.expired)),
        (N.request(1), .same(.duplicate(of: 1))),
        (N.request(1, isExpired: true), .same(.duplicate(of: 1))),
        (N.request(1, content: 4), .same(.conflict(with: 1))),
        (N.request(1, content: 4, isExpired: true), .same(.conflict(with: 1))),
        (N.request(1, to: [2], content: 4), .same(.conflict(with: 1))),
        (N.request(1, to: [2]), .new(isSingle: false)),
        (N.request(1, to: [2], isExpired: true), .same(.expired)),
        (N.request(1, again: true), .same(.duplicate(of: 1))),
        (N.request(2, to: []), .same(.duplicate(of: 2))),
        (N.request(2, to: [], again: true), .new(isSingle: false)),
        (N.request(2, to: [], again: true, isExpired: true), .same(.expired)),
        (N.request(2, to: [], content: 4, again: true), .same(.conflict(with: 2))),
    ])
    func `A request is new, a duplicate, a conflict or expired`(facts: DedupeRequest, expected: Expected) {
        // The earlier messages are in the same group or in another one.
        for isSameGroup in [false, true] {
            let engine = engine()
            let earlier = [request(N.request(1)), request(N.request(2, to: []))]
            if !isSameGroup { _ = engine.write(earlier, at: 0) }
            let decision = engine.write(isSameGroup ? earlier + [request(facts)] : [request(facts)], at: 0)?.last
            switch expected {
            case .new(let isSingle): #expect(decision == .new(seq: 3, key: key(facts, isSingle: isSingle)))
            case .same(let same): #expect(decision == same)
            }
        }
    }

    @Test func `A request is compared with all messages of its id`() {
        let engine = engine()
        _ = engine.write(
            [request(N.request(1)), request(N.request(1, to: [2])), request(N.request(1, to: [3]))], at: 0)
        for (device, seq) in [(1, 1), (2, 2), (3, 3)] as [(Int, UInt64)] {
            let decisions = engine.write([request(N.request(1, to: [device]))], at: 0)
            #expect(decisions == [.duplicate(of: seq)])
        }
    }

    @Test func `A request whose earlier key cannot be read counts as a duplicate`() {
        var machine = DedupeMachine(window: .seconds(8), limit: .max)
        var first = DedupeGroup(first: 1)
        _ = machine.decide(N.request(1), in: &first) { _ in nil }
        machine.commit(first)
        var second = DedupeGroup(first: 2)
        let decision = machine.decide(N.request(1, content: 4), in: &second) { _ in nil }
        #expect(decision == .unverified(of: 1))
        machine.undo(second)
    }

    @Test func `At the limit new messages are refused, and known ones are still recognized`() {
        let engine = engine(limit: 2)
        _ = engine.write([request(N.request(1)), request(N.request(2))], at: 0)
        let decisions = engine.write(
            [
                request(N.request(3)), request(N.request(1, to: [2])), request(N.request(1)),
                request(N.request(2, content: 4)),
            ],
            at: 0)
        #expect(decisions == [.refused, .refused, .duplicate(of: 1), .conflict(with: 2)])
        #expect(engine.machine.refusedCount == 2)
        let failed = engine.write([request(N.request(3))], at: 0, fails: true)
        #expect(failed == nil)
        #expect(engine.machine.refusedCount == 2)
    }

    // MARK: Failed commits

    @Test func `After a failed commit the device of a first message is not claimed`() {
        let engine = engine()
        _ = engine.write([request(N.request(1))], at: 0)
        let failed = engine.write([request(N.request(1, to: [1, 2]))], at: 0, fails: true)
        #expect(failed == nil)
        #expect(engine.machine.deliveryCount == 0)
        #expect(engine.machine.rememberedCount == 1)
        let again = engine.write([request(N.request(1, to: [1, 2]))], at: 0)
        #expect(again == [.new(seq: 2, key: key(N.request(1, to: [1, 2]), isSingle: false))])
        #expect(engine.claim(1, [1, 2], for: 2) == [.had, .new])
    }

    @Test func `A claim that was there before a failed commit is kept`() {
        let engine = engine()
        _ = engine.write([request(N.request(1)), request(N.request(1, to: [1, 2]))], at: 0)
        _ = engine.write([request(N.request(1, to: [1, 3]))], at: 0, fails: true)
        #expect(engine.claim(1, [1], for: 2) == [.had])
    }

    @Test func `A lookup that fails leaves the machine unchanged`() {
        let engine = engine()
        _ = engine.write([request(N.request(1))], at: 0)
        engine.lookupsUntilFault = 0
        let failed = engine.write([request(N.request(2)), request(N.request(1, to: [1, 2]))], at: 0)
        #expect(failed == nil)
        #expect(engine.machine.rememberedCount == 1)
        #expect(engine.first(of: 2) == nil)
    }

    @Test func `After a failed commit its messages wait again`() {
        let engine = engine()
        _ = engine.write([request(N.request(1)), request(N.request(2))], at: 0)
        _ = engine.write(outcomes: [outcome(1, 1, 1)], completed: [1, 2], at: 0, fails: true)
        #expect(engine.machine.pending.count == 2)
        _ = engine.write(outcomes: [outcome(1, 1, 1)], completed: [1, 2], at: 0)
        #expect(engine.machine.pending.count == 0)
        #expect(engine.disk.messages.isEmpty)
    }

    // MARK: Keys of deliveries

    /// The message is for device 1 or for devices 1 and 2, is scheduled or not, and ends after some milliseconds.
    @Test(
        arguments: [
            ([1], false, 999, FinalOutcome.sent, nil), ([1], false, 1000, .sent, (true, true)),
            ([1], true, 0, .sent, (true, true)), ([1, 2], false, 0, .sent, (true, false)),
            ([1, 2], true, 0, .sent, (true, false)), ([1, 2], false, 0, .suppressed, (false, false)),
            ([1], false, 1000, .suppressed, (false, true)), ([1, 2], false, 0, .unknown, (true, false)),
            ([1, 2], false, 0, .rejected, (true, false)), ([1, 2], false, 0, .expired, (true, false)),
        ] as [([Int], Bool, Int64, FinalOutcome, (Bool, Bool)?)])
    func `A delivery is stored unless the key of its message is enough`(
        devices: [Int], isScheduled: Bool, waited: Int64, end: FinalOutcome, expected: (isClaimed: Bool, isOnly: Bool)?
    ) {
        let engine = engine()
        _ = engine.write([request(N.request(1, to: devices), isScheduled: isScheduled)], at: 0)
        _ = engine.write(outcomes: [outcome(1, 1, 1, end)], completed: [1], at: waited)
        let stored = expected.map { facts in
            EndedKey(
                fingerprint: N.delivery(1, 1), seq: 1, outcome: end, isClaimed: facts.isClaimed, isOnly: facts.isOnly)
        }
        #expect(engine.disk.rows.last?.keys.ended == stored.map { [$0] } ?? [])
        #expect(engine.machine.endedOnly.count == (stored.map { $0.isClaimed && $0.isOnly } == true ? 1 : 0))
    }

    @Test func `The deliveries of a scheduled message are stored, also if its number is between those of a row`() {
        let engine = engine()
        _ = engine.write(
            [request(N.request(1)), request(N.request(2, to: [1, 2]), isScheduled: true), request(N.request(3))], at: 0)
        for _ in 0..<2 {
            #expect(engine.claim(2, [1], for: 2) == [.new])
            _ = engine.write(outcomes: [outcome(2, 2, 1)], at: 0, fails: true)
            engine.restart()
        }
        _ = engine.claim(2, [1], for: 2)
        _ = engine.write(outcomes: [outcome(2, 2, 1)], at: 0)
        engine.restart()
        #expect(engine.claim(2, [1, 2], for: 2) == [.done, .new])
    }

    @Test func `A device whose delivery ended late is claimed after its message is forgotten`() {
        let engine = engine()
        _ = engine.write([request(N.request(1))], at: 0)
        _ = engine.write(outcomes: [outcome(1, 1, 1)], completed: [1], at: 6000)
        _ = engine.trim(at: 8001)
        #expect(engine.machine.messages.count == 0)
        let decisions = engine.write([request(N.request(1))], at: 8001)
        #expect(decisions?.count == 1)
        #expect(engine.disk.rows.last?.keys.accepted.first?.isSingle == false)
        let seq = engine.disk.rows.last?.keys.number ?? 0
        #expect(engine.claim(1, [1], for: seq) == [.had])
        // The window of the device has passed.
        _ = engine.write(outcomes: [outcome(seq, 1, 1, .suppressed)], completed: [seq], at: 8001)
        _ = engine.trim(at: 14_001)
        #expect(engine.machine.deliveryCount == 0)
    }

    @Test func `A device stays claimed as long as the id of its message, whatever its row of keys waits for`() {
        let engine = engine()
        _ = engine.write([request(N.request(1)), request(N.request(2, to: [3]))], at: 0)
        _ = engine.write(outcomes: [outcome(1, 1, 1)], at: 2000)
        _ = engine.write(completed: [1], at: 2000)
        _ = engine.write([request(N.request(1, to: [1, 2]))], at: 2500)
        let seq = engine.disk.rows.last?.keys.number ?? 0
        // The second message waits, and keeps the id of the first. The delivery is older than the window.
        while engine.trim(at: 10_001) {}
        let ended = engine.disk.rows.flatMap(\.keys.ended)
        #expect(ended.isEmpty)
        #expect(engine.claim(1, [1, 2], for: seq) == [.had, .new])
        _ = engine.write(outcomes: [outcome(2, 2, 3)], completed: [2], at: 10_001)
        while engine.trim(at: 10_001) {}
        #expect(engine.first(of: 1) == seq)
        #expect(engine.claim(1, [1, 2], for: seq) == [.new, .had])
    }

    // MARK: Claims

    @Test func `A device that is looked up stays free for another message of its id`() {
        let engine = engine()
        _ = engine.write([request(N.request(1, to: [1, 2, 3]))], at: 0)
        _ = engine.claim(1, [1, 2, 3], for: 1)
        _ = engine.write(outcomes: [outcome(1, 1, 1, .suppressed)], at: 0)
        engine.restart()
        // Device 3 has become inactive since the restart.
        #expect(engine.claim(1, [2, 1, 3], lookupCount: 2, for: 1) == [.new, .done, .new])
        _ = engine.write(outcomes: [outcome(1, 1, 2), outcome(1, 1, 3, .suppressed)], completed: [1], at: 0)
        #expect(engine.machine.deliveryCount == 1)
        #expect(engine.claim(1, [1, 2, 3], lookupCount: 1, for: 2) == [.new, .had, .new])
        #expect(engine.claim(1, [3], for: 2) == [.new])
        #expect(engine.claim(1, [3], lookupCount: 1, for: 3) == [.had])
    }

    // MARK: Rows of keys

    @Test func `A row of keys is kept while one of its messages waits, and then examined again`() {
        let engine = engine()
        _ = engine.write([request(N.request(1, to: [1, 2]))], at: 0)
        #expect(engine.claim(1, [1, 2], for: 1) == [.new, .new])
        _ = engine.write(outcomes: [outcome(1, 1, 1)], at: 0)
        #expect(engine.trim(at: 9000) == false)
        #expect(engine.disk.rows.count == 2)
        #expect(engine.nextKeyRow() == .after(2))
        _ = engine.write(outcomes: [outcome(1, 1, 2)], completed: [1], at: 9000, fails: true)
        #expect(engine.nextKeyRow() == .after(2))
        _ = engine.write(outcomes: [outcome(1, 1, 2)], completed: [1], at: 9000)
        while engine.trim(at: 9000) {}
        #expect(engine.disk.rows.map(\.keys.number) == [3])
        #expect(engine.machine.messages.count == 0)
        // The first delivery was stored long ago, the second just now.
        #expect(engine.machine.deliveryCount == 1)
    }

    @Test func `A row that reports a done message is kept while the row of messages is`() {
        let engine = engine()
        _ = engine.write([request(N.request(1)), request(N.request(2))], at: 0)
        _ = engine.write(completed: [1], at: 0)
        while engine.trim(at: 9000) {}
        #expect(engine.disk.rows.count == 2)
        engine.restart()
        #expect(!engine.machine.pending.contains(1))
        #expect(engine.machine.pending.contains(2))
    }

    @Test func `The id of a scheduled message is kept without its row of keys until the message is done`() {
        let engine = engine()
        _ = engine.write([request(N.request(1), isScheduled: true), request(N.request(2))], at: 0)
        _ = engine.write(completed: [2], at: 0)
        while engine.trim(at: 9000) {}
        #expect(engine.disk.rows.isEmpty)
        for _ in 0..<2 {
            #expect(engine.machine.messages.idCount == 1)
            let decisions = engine.write([request(N.request(1))], at: 9000)
            #expect(decisions == [.duplicate(of: 1)])
            engine.restart()
        }
        _ = engine.write(outcomes: [outcome(1, 1, 1)], completed: [1], at: 9000)
        #expect(engine.machine.messages.count == 0)
        #expect(engine.machine.deliveryCount == 1)
    }

    @Test func `A longer window keeps what it covers, and a shorter one examines all rows again`() {
        let engine = engine()
        _ = engine.write([request(N.request(1))], at: 0)
        while engine.trim(at: 9000) {}
        engine.machine.setWindow(.milliseconds(30_000))
        #expect(engine.nextKeyRow() == .after(0))
        #expect(!engine.isBeyondWindow(0, at: 9000))
        #expect(!engine.isBeyondWindow(.min, at: .min))
        engine.machine.setWindow(.milliseconds(8000))
        #expect(engine.isBeyondWindow(0, at: 9000))
    }

    // MARK: Restarts

    @Test func `After a restart a message continues with the deliveries that have not ended`() {
        let engine = engine()
        _ = engine.write([request(N.request(1, to: [1, 2, 3]))], at: 0)
        #expect(engine.claim(1, [1, 2, 3], for: 1) == [.new, .new, .new])
        _ = engine.write(outcomes: [outcome(1, 1, 1), outcome(1, 1, 2, .suppressed)], at: 0)
        engine.restart()
        #expect(engine.recoveredCounts(of: 1).sent == 1)
        #expect(engine.recoveredCounts(of: 1).suppressed == 1)
        #expect(engine.claim(1, [1, 2, 3], for: 1) == [.done, .done, .new])
        _ = engine.write(outcomes: [outcome(1, 1, 3)], completed: [1], at: 0)
        #expect(engine.machine.recovered.isEmpty)
    }

    @Test func `After a restart the device of a first message is claimed if its id has further messages`() {
        let engine = engine()
        _ = engine.write([request(N.request(1)), request(N.request(2))], at: 0)
        _ = engine.write([request(N.request(1, to: [1, 2]))], at: 0)
        engine.restart()
        #expect(engine.machine.deliveryCount == 1)
        #expect(engine.claim(1, [1, 2], for: 3) == [.had, .new])
        #expect(engine.machine.pending.count == 3)
    }
}
