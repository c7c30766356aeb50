import PushLogic
import PushTime
import TestSupport
import Testing

/// A log, a disk and a receiver, between which a machine walks at random.
private struct WebhookWalk {
    private var random: any RandomNumberGenerator
    private var machine: WebhookMachine
    private var disk = WebhookRecord(after: 0)
    private var now = MonotonicTime(nanoseconds: 0)
    private var newest: UInt64 = 0
    private var made = 0
    /// Whether the receiver also gets the events that others do not get.
    private var isWide = false
    /// Whether the address has changed since the last request.
    private var isMoved = false
    /// The body of the machine's batch.
    private var body: [UInt64] = []
    /// The bodies by id, as the receiver has seen them.
    private var bodies: [String: [UInt64]] = [:]
    private(set) var reached: UInt64 = 0
    /// The start of the last batch that the receiver has had.
    private var lastBegin: UInt64 = 0
    private(set) var restarts = 0
    private(set) var deliveries = 0
    private(set) var changes = 0

    init(_ random: some RandomNumberGenerator) {
        self.random = random
        machine = WebhookMachine(disk)
    }

    /// Every third event is of a topic that the receiver gets with some prefixes only.
    private func events(after: UInt64, through: UInt64, isWide: Bool = false) -> [UInt64] {
        after >= through ? [] : (after + 1...through).filter { isWide || $0 % 3 != 0 }
    }

    private static func digest(_ body: [UInt64]) -> [UInt8] { body.map { UInt8(truncatingIfNeeded: $0 &* 31) } }

    mutating func turn(isCalm: Bool) {
        if !isCalm {
            newest += UInt64.random(in: 0...3, using: &random)
            if Int.random(in: 0..<12, using: &random) == 0 {
                machine = WebhookMachine(disk)
                restarts += 1
            }
            if Int.random(in: 0..<20, using: &random) == 0 { _ = machine.pause() }
        }
        if isCalm || Int.random(in: 0..<3, using: &random) == 0 { _ = machine.resume() }
        machine.eventsCommitted()
        let step = machine.next(now: now)
        // A kill can come between a step and its report.
        if !isCalm, Int.random(in: 0..<15, using: &random) == 0 {
            if case .store(let record) = step, Bool.random(using: &random) { disk = record }
            if case .send(let batch) = step, Bool.random(using: &random) { receive(batch) }
            machine = WebhookMachine(disk)
            restarts += 1
            return
        }
        carryOut(step, isCalm: isCalm)
    }

    /// Other settings can come while a step is under way.
    private mutating func changeSettings() {
        switch Int.random(in: 0..<30, using: &random) {
        case 0:
            isWide.toggle()
            machine.prefixesChanged()
        case 1:
            isMoved = true
            machine.addressChanged()
            machine.endBackOff()
        default: return
        }
        changes += 1
    }

    private mutating func carryOut(_ step: WebhookMachine.Step, isCalm: Bool) {
        let wasWide = isWide
        isMoved = false
        if !isCalm { changeSettings() }
        switch step {
        case .rest, .listen: break
        case .wait(let time): now = time
        case .store(let record):
            if !isCalm, Int.random(in: 0..<6, using: &random) == 0 {
                machine.storeFailed(now: now, random: 0)
            } else {
                disk = record
                machine.stored()
            }
        case .read(let after):
            let through = min(newest, after + UInt64.random(in: 1...9, using: &random))
            let found = events(after: after, through: through, isWide: wasWide)
            guard let last = found.last else {
                return machine.examined(through: max(after, through), isEnd: through == newest, now: now)
            }
            made += 1
            let batch = WebhookBatch(id: "\(made)", after: after, through: last, digest: Self.digest(found))
            let isKept = machine.found(batch)
            #expect(isKept == (isWide == wasWide))
            if isKept { body = found }
        case .rebuild(let batch):
            let found = events(after: batch.after, through: batch.through, isWide: wasWide)
            if machine.record.batch == batch, Self.digest(found) == batch.digest { body = found }
            machine.rebuilt(Self.digest(found))
        case .send(let batch): send(batch, isWide: wasWide, isCalm: isCalm)
        }
    }

    private mutating func send(_ batch: WebhookBatch, isWide: Bool, isCalm: Bool) {
        #expect(disk.batch == batch, "a batch was sent that is not on disk")
        #expect(
            body == events(after: batch.after, through: batch.through, isWide: isWide),
            "a batch has events of other prefixes")
        switch isCalm ? 9 : Int.random(in: 0..<10, using: &random) {
        case _ where isMoved:
            receive(batch)
            #expect(machine.answered(410, retryAfter: nil, now: now, random: 0) == .overtaken)
        case 0: _ = machine.unanswered(now: now, random: 0)
        case 1:
            receive(batch)
            _ = machine.unanswered(now: now, random: 0)
        case 2: _ = machine.answered(500, retryAfter: nil, now: now, random: 0)
        default:
            receive(batch)
            _ = machine.answered(200, retryAfter: nil, now: now, random: 0)
        }
    }

    private mutating func receive(_ batch: WebhookBatch) {
        deliveries += 1
        if let earlier = bodies[batch.id] { #expect(earlier == body, "an id had two bodies") }
        bodies[batch.id] = body
        #expect(events(after: reached, through: batch.after).isEmpty, "events were left out before a batch")
        #expect(batch.after >= lastBegin, "more than one batch was repeated")
        lastBegin = batch.after
        reached = max(reached, batch.through)
    }

    /// Whether the receiver has had everything.
    var isComplete: Bool { events(after: reached, through: newest).isEmpty }
}

@Suite("Random walks of the machine of a webhook")
struct WebhookWalkTests {
    @Test(
        "Every event arrives in order at least once, and an id never has two bodies",
        arguments: 1...40 as ClosedRange<UInt64>)
    func walk(seed: UInt64) {
        var walk = WebhookWalk(SeededRandom(seed: seed))
        for _ in 0..<3000 { walk.turn(isCalm: false) }
        var calm = 0
        while !walk.isComplete, calm < 20_000 {
            walk.turn(isCalm: true)
            calm += 1
        }
        #expect(walk.isComplete)
        #expect(walk.restarts > 50)
        #expect(walk.deliveries > 50)
        #expect(walk.changes > 50)
    }
}
