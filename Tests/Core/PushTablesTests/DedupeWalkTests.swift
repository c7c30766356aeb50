import PushModel
import TestSupport
import TestTraits
import Testing

@testable import PushLogic

/// Random walks of the rules beside a model that knows only what must never happen: a device that gets an id twice
/// within the window, a waiting message that is forgotten, a wrong answer, or memory that is never freed.
@Suite struct DedupeWalkTests {
    @Test(arguments: [Int.max, 12]) func `No walk breaks a promise, and all that is remembered is forgotten at last`(
        limit: Int
    ) {
        for seed in UInt64(1)...RunKind.rounds(20, long: 200) {
            let walk = DedupeWalk(seed: seed, limit: limit)
            for _ in 0..<250 where walk.fault == nil { walk.step() }
            walk.end()
            if let fault = walk.fault {
                Issue.record("seed \(seed): \(fault)")
                return
            }
        }
    }
}

private final class DedupeWalk {
    typealias N = DedupeNames

    struct Device: Hashable {
        let id: Int
        let device: Int
    }

    /// A message that was accepted, as the model sees it.
    struct Known {
        let seq: UInt64
        let id: Int
        let content: UInt64
        /// The named devices. Empty if the registry determines them.
        let devices: [Int]
        let acceptedAt: Int64
        let isSingle: Bool
        let isScheduled: Bool
        var isDone = false
        /// The deliveries that are under way.
        var sending: Set<Int> = []
        /// The deliveries whose outcomes are stored.
        var ended: Set<Int> = []
    }

    private static let window: Int64 = 8000
    private static let ids = N.ids
    private static let all = N.devices

    private let engine: DedupeEngine
    private var random: SeededRandom
    private let isLimited: Bool
    private var now: Int64 = 1_000_000
    private var known: [UInt64: Known] = [:]
    /// When a device last got an id, as far as it is stored, and until when it must not get it again.
    private var lastSent: [Device: (time: Int64, until: Int64)] = [:]
    /// When the deliveries under way were sent.
    private var sentAt: [UInt64: [Int: Int64]] = [:]
    /// The devices that some message has claimed or sent to.
    private var everClaimed: Set<Device> = []
    /// Outcomes and completions whose commit failed.
    private var retained: (outcomes: [DedupeEngine.Outcome], completed: [UInt64]) = ([], [])
    /// When ids were cancelled.
    private var cancelledAt: [Int: Int64] = [:]
    private(set) var fault: String?

    init(seed: UInt64, limit: Int) {
        random = SeededRandom(seed: seed)
        isLimited = limit < .max
        engine = DedupeEngine(window: .milliseconds(Self.window), limit: limit)
    }

    private func fail(_ text: String) { fault = fault ?? "\(text), at \(now)" }

    private func chance(_ part: Int, of whole: Int) -> Bool { Int.random(in: 0..<whole, using: &random) < part }

    func step() {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<7: write(requests: Int.random(in: 1...6, using: &random))
        case 7..<11: claim()
        case 11..<14: write(requests: 0)
        case 14, 15: now += .random(in: 1...(Self.window / 16), using: &random)
        case 16: now += .random(in: 1...(Self.window * 3 / 4), using: &random)
        case 17, 18: trim()
        case 19 where chance(1, of: 3): cancel(Int.random(in: Self.ids, using: &random))
        default: if chance(1, of: 2) { crash() } else { checkRestored() }
        }
        checkWaiting()
    }

    // MARK: Groups

    private func someRequest() -> (DedupeEngine.Request, id: Int, devices: [Int]) {
        let id = Int.random(in: Self.ids, using: &random)
        let count = [0, 1, 1, 1, 2, 3].randomElement(using: &random)!
        var devices = Array(Self.all.shuffled(using: &random).prefix(count))
        // The same audience comes often, as when a producer retries.
        if chance(1, of: 3), let earlier = known.values.sorted(by: { $0.seq < $1.seq }).last(where: { $0.id == id }) {
            devices = earlier.devices
        }
        let facts = N.request(
            id, to: devices, content: chance(1, of: 12) ? 4 : 2, again: chance(1, of: 4), isExpired: chance(1, of: 12))
        return (DedupeEngine.Request(facts: facts, isScheduled: chance(1, of: 4)), id, devices)
    }

    private func write(requests count: Int) {
        let requests = (0..<count).map { _ in someRequest() }
        if count == 0 || chance(1, of: 3) { collect() }
        let next = engine.disk.next
        let before = Snapshot(engine.machine, upTo: next)
        let fails = chance(1, of: 6)
        if chance(1, of: 8) { engine.lookupsUntilFault = Int.random(in: 0..<3, using: &random) }
        let decisions = engine.write(
            requests.map(\.0), outcomes: retained.outcomes, completed: retained.completed, at: now, fails: fails)
        engine.lookupsUntilFault = .max
        guard let decisions else {
            if Snapshot(engine.machine, upTo: next) != before { fail("a failed commit is not undone") }
            return
        }
        for outcome in retained.outcomes { stored(outcome) }
        var seq = next
        for ((request, id, devices), decision) in zip(requests, decisions) {
            check(decision, on: request, id: id, devices, next: seq)
            if case .new(let number, let key) = decision {
                accept(number, key, request, id: id, devices)
                seq += 1
            }
        }
        for seq in retained.completed {
            known[seq]?.isDone = true
            sentAt[seq] = nil
        }
        retained = ([], [])
    }

    /// Adds some outcomes of deliveries under way to what is written next, and completes messages.
    private func collect() {
        for message in known.values.sorted(by: { $0.seq < $1.seq }) where !message.isDone {
            if retained.completed.contains(message.seq) || chance(1, of: 3) { continue }
            var sending = message.sending
            for device in message.sending.sorted() where message.isSingle || chance(1, of: 2) {
                let end: FinalOutcome = chance(1, of: 6) ? .rejected : chance(1, of: 8) ? .unknown : .sent
                add(end, of: message, device)
                sending.remove(device)
            }
            known[message.seq]?.sending = sending
            let isLooked = message.devices.allSatisfy { device in
                message.ended.contains(device) || retained.outcomes.contains { has($0, message, device) }
            }
            let isComplete = message.devices.isEmpty ? chance(1, of: 6) : isLooked
            if sending.isEmpty, isComplete { retained.completed.append(message.seq) }
        }
    }

    private func has(_ outcome: DedupeEngine.Outcome, _ message: Known, _ device: Int) -> Bool {
        outcome.seq == message.seq && outcome.delivery == N.delivery(message.id, device)
    }

    private func add(_ end: FinalOutcome, of message: Known, _ device: Int) {
        retained.outcomes.append(
            DedupeEngine.Outcome(
                seq: message.seq, delivery: N.delivery(message.id, device), end: end, acceptedAt: message.acceptedAt))
    }

    private func stored(_ outcome: DedupeEngine.Outcome) {
        guard let message = known[outcome.seq],
            let device = Self.all.first(where: { N.delivery(message.id, $0) == outcome.delivery })
        else { return fail("an outcome of an unknown message was stored") }
        known[outcome.seq]?.ended.insert(device)
        if let time = sentAt[outcome.seq]?.removeValue(forKey: device), outcome.end != .suppressed {
            // A single message that is sent soon has no second key, and its own is as old as the message.
            let isSoon = message.isSingle && !message.isScheduled && now - message.acceptedAt < Self.window / 8
            lastSent[Device(id: message.id, device: device)] = (time, time + Self.window * (isSoon ? 7 : 8) / 8)
        }
    }

    private func accept(
        _ seq: UInt64, _ key: AcceptedKey, _ request: DedupeEngine.Request, id: Int, _ devices: [Int]
    ) {
        known[seq] = Known(
            seq: seq, id: id, content: request.facts.content, devices: devices, acceptedAt: now, isSingle: key.isSingle,
            isScheduled: request.isScheduled)
        if key.isSingle { everClaimed.insert(Device(id: id, device: devices[0])) }
    }

    /// Whether the id of a message must be remembered.
    private func isRemembered(_ message: Known) -> Bool {
        !message.isDone || message.acceptedAt + Self.window >= now
    }

    private func check(
        _ decision: DedupeDecision, on request: DedupeEngine.Request, id: Int, _ devices: [Int], next: UInt64
    ) {
        let facts = request.facts
        if isCancelled(id) {
            switch decision {
            case .duplicate(let seq), .conflict(let seq), .unverified(let seq):
                if known[seq]?.id != id { fail("message \(seq) does not have the cancelled id \(id)") }
            case .new, .expired, .refused: fail("the cancelled id \(id) is not known: \(decision)")
            }
            return
        }
        let same = known.values.filter { $0.id == id && isRemembered($0) }
        let conflicts = same.contains { $0.content != facts.content }
        let repeats = same.contains { one in
            // A later message for the same audience, which only the option `again` allows, may be forgotten before an
            // earlier one that waits for longer than the window. The request is then accepted again.
            one.content == facts.content && Set(one.devices) == Set(devices)
                && (one.acceptedAt + Self.window >= now || !devices.isEmpty)
        }
        switch decision {
        case .new(let seq, let key):
            if seq != next { fail("number \(seq) instead of \(next)") }
            if facts.isExpired { fail("an expired request is accepted") }
            if conflicts { fail("a conflict with a remembered message is accepted") }
            if repeats, !(facts.again && facts.isDynamic) { fail("a repeated request is accepted as \(seq)") }
            if key.isSingle, devices.count != 1 || !same.isEmpty { fail("message \(seq) is single") }
        case .duplicate(let seq):
            if cancelledAt[id] != nil, engine.disk.cancelled[N.message(id)] != nil { return }
            guard let earlier = known[seq] else { return fail("a duplicate of \(seq), which does not exist") }
            if earlier.id != id || earlier.content != facts.content || Set(earlier.devices) != Set(devices) {
                fail("a duplicate of \(seq), which is another message")
            }
            if facts.again, facts.isDynamic { fail("the option `again` is ignored") }
        case .conflict(let seq):
            guard let earlier = known[seq] else { return fail("a conflict with \(seq), which does not exist") }
            if earlier.id != id || earlier.content == facts.content { fail("no conflict with \(seq)") }
        case .expired:
            if !facts.isExpired { fail("a request in time is expired") }
            if conflicts || repeats && !(facts.again && facts.isDynamic) { fail("a known request is expired") }
        case .refused:
            if !isLimited || engine.machine.rememberedCount == 0 { fail("refused without a limit") }
        case .unverified(let seq):
            // A cancelled id is forgotten by trimming, which may come late.
            if cancelledAt[id] == nil { fail("the key of \(seq) is not found") }
        }
    }

    // MARK: Cancelling

    private func isCancelled(_ id: Int) -> Bool { cancelledAt[id].map { $0 + Self.window >= now } ?? false }

    private func cancel(_ id: Int) {
        // Completions whose commit failed would be stored before a cancellation.
        write(requests: 0)
        guard retained.completed.isEmpty, retained.outcomes.isEmpty, fault == nil else { return }
        let open = known.values.filter { $0.id == id && !$0.isDone }.map(\.seq).sorted()
        let before = Snapshot(engine.machine, upTo: engine.disk.next)
        guard let decision = engine.cancel(id, at: now, fails: chance(1, of: 6)) else {
            if Snapshot(engine.machine, upTo: engine.disk.next) != before { fail("a failed cancel is not undone") }
            return
        }
        switch decision {
        case .unknown:
            if known.values.contains(where: { $0.id == id && isRemembered($0) }) { fail("id \(id) is not known") }
        case .tooLate: if !open.isEmpty { fail("id \(id) is not complete") }
        case .known: if cancelledAt[id] == nil { fail("id \(id) was not cancelled") }
        case .new(_, let seqs):
            if seqs != open { fail("the messages \(seqs) of id \(id) are open, not \(open)") }
            cancelledAt[id] = now
            for seq in seqs {
                // What was claimed and not sent is released; what was sent has ended or is in flight.
                for device in known[seq]?.sending ?? [] where known[seq]?.isSingle == false {
                    engine.machine.release([N.delivery(id, device)])
                }
                known[seq]?.sending = []
                sentAt[seq] = nil
                retained.completed.append(seq)
            }
            write(requests: 0)
        }
    }

    // MARK: Sending

    private func claim() {
        let open = known.values.filter { !$0.isDone && !retained.completed.contains($0.seq) }
        guard let message = open.sorted(by: { $0.seq < $1.seq }).randomElement(using: &random) else { return }
        let candidates = message.devices.isEmpty ? Array(Self.all) : message.devices
        let devices = candidates.filter { device in
            !message.sending.contains(device) && !retained.outcomes.contains { has($0, message, device) }
                && (message.isSingle ? !message.ended.contains(device) : true)
        }
        if message.isSingle {
            for device in devices { send(message.seq, device) }
            return
        }
        let page = Array(devices.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)))
        // A device is claimed once in the life of a process, and again after a restart.
        let asked = page.filter { !(claimedNow[message.seq] ?? []).contains($0) }
        let verdicts = engine.claim(message.id, asked, for: message.seq)
        for (device, verdict) in zip(asked, verdicts) {
            claimedNow[message.seq, default: []].insert(device)
            switch verdict {
            case .new:
                if message.ended.contains(device) { fail("message \(message.seq) claims device \(device) again") }
                send(message.seq, device)
            case .had:
                if !everClaimed.contains(Device(id: message.id, device: device)) {
                    fail("device \(device) is claimed by nobody")
                }
                add(.suppressed, of: message, device)
            case .done:
                if !message.ended.contains(device) { fail("device \(device) has not ended") }
            }
        }
    }

    /// The devices that messages have claimed since the last restart.
    private var claimedNow: [UInt64: Set<Int>] = [:]

    private func send(_ seq: UInt64, _ device: Int) {
        guard let message = known[seq] else { return }
        let name = Device(id: message.id, device: device)
        if let last = lastSent[name], now < last.until {
            fail("device \(device) gets id \(message.id) again after \(now - last.time)")
        }
        for other in known.values where other.id == message.id && sentAt[other.seq]?[device] != nil {
            fail("messages \(seq) and \(other.seq) are sent to device \(device) at once")
        }
        everClaimed.insert(name)
        sentAt[seq, default: [:]][device] = now
        known[seq]?.sending.insert(device)
    }

    // MARK: Trimming and restarting

    private func trim() {
        let fails = chance(1, of: 6)
        for _ in 0..<Int.random(in: 1...4, using: &random) where engine.trim(at: now, fails: fails) {}
    }

    private func crash() {
        checkRestored()
        engine.restart()
        sentAt = [:]
        claimedNow = [:]
        retained = ([], [])
        for seq in known.keys { known[seq]?.sending = [] }
    }

    /// The rules must give the same answers after a restart as without.
    private func checkRestored() {
        var fresh = engine.restored()
        let first = engine.disk.next
        for id in Self.ids {
            let (turns, expected) = (fresh.sentTurns.count(of: N.message(id)), engine.sentTurns(of: id))
            if turns != expected { fail("after a restart \(turns) deliveries of turns of id \(id), not \(expected)") }
            for devices in [[], [1], [2], [3, 4], [2, 1, 3]] {
                for content in N.contents {
                    let request = N.request(id, to: devices, content: content)
                    let answers = (decide(request, &engine.machine, first), decide(request, &fresh, first))
                    // See `check` for the exception.
                    if answers.0 != answers.1, !devices.isEmpty {
                        fail("after a restart id \(id) to \(devices): \(answers)")
                    }
                }
            }
            let messages = known.values.filter { $0.id == id && !$0.isDone }
            for device in Self.all where !messages.contains(where: { $0.sending.contains(device) }) {
                let isOutcomeRetained = messages.contains { message in
                    retained.outcomes.contains { has($0, message, device) }
                }
                let delivery = N.delivery(id, device)
                let isClaimed = (engine.machine.deliveries.contains(delivery), fresh.deliveries.contains(delivery))
                // The device of a single message without further ones is not asked for.
                let isAlone = (fresh.messages.first(of: N.message(id)).flatMap { known[$0] })?.isSingle == true
                if isClaimed.0 != isClaimed.1, !isOutcomeRetained, !isAlone {
                    fail("after a restart device \(device) of id \(id): claimed \(isClaimed.1), not \(isClaimed.0)")
                }
            }
        }
        for seq in 1..<max(2, first) {
            if engine.machine.pending.contains(seq) != fresh.pending.contains(seq) {
                fail("after a restart message \(seq) waits: \(fresh.pending.contains(seq))")
            }
        }
    }

    private func decide(
        _ request: DedupeRequest, _ machine: inout DedupeMachine, _ first: UInt64
    ) -> DedupeDecision? {
        let disk = engine.disk
        var group = DedupeGroup(first: first)
        let decision = machine.decide(request, in: &group) { disk.storedKey(of: $0) ?? disk.scheduled[$0] }
        machine.undo(group)
        // Claims without an outcome are forgotten by a restart, and so the limit is reached later.
        return decision == .refused ? nil : decision.isNew && isLimited ? nil : decision
    }

    private func checkWaiting() {
        for message in known.values where !message.isDone {
            if !message.isScheduled, !engine.machine.pending.contains(message.seq) {
                fail("message \(message.seq) does not wait any more")
            }
            if engine.machine.messages.first(of: N.message(message.id)) == nil {
                fail("the id of message \(message.seq) is forgotten while it waits")
            }
        }
    }

    // MARK: The end

    /// Completes everything and lets the window pass. Nothing may remain.
    func end() {
        for _ in 0..<200 where known.values.contains(where: { !$0.isDone }) && fault == nil {
            for message in known.values.sorted(by: { $0.seq < $1.seq }) where !message.isDone {
                if retained.completed.contains(message.seq) { continue }
                claimRest(message)
            }
            collect()
            write(requests: 0)
        }
        if known.values.contains(where: { !$0.isDone }) { fail("not all messages can be completed") }
        now += Self.window + 1
        for _ in 0..<100 where engine.trim(at: now) {}
        let machine = Snapshot(engine.machine, upTo: engine.disk.next)
        if !machine.isEmpty { fail("not everything is forgotten: \(machine)") }
        if !engine.disk.rows.isEmpty { fail("\(engine.disk.rows.count) rows remain") }
        if !engine.disk.messages.isEmpty || !engine.disk.scheduled.isEmpty { fail("messages remain") }
    }

    private func claimRest(_ message: Known) {
        for _ in 0..<20 where known[message.seq]?.sending.isEmpty ?? false { claim() }
    }
}

extension DedupeDecision {
    fileprivate var isNew: Bool { if case .new = self { true } else { false } }
}

/// Everything that a machine remembers about the ids and devices of a walk.
private struct Snapshot: Equatable, CustomStringConvertible {
    var firsts: [UInt64?] = []
    var laters: [UInt64?] = []
    var claimed: [Bool] = []
    var endedOnly: [Bool] = []
    var waiting: [Bool] = []
    var counts: [Int] = []
    var refused: UInt64
    var recovered: [UInt64]
    var pinned: PinnedKeys

    init(_ machine: borrowing DedupeMachine, upTo next: UInt64) {
        for id in DedupeNames.ids {
            let fingerprint = DedupeNames.message(id)
            firsts.append(machine.messages.first(of: fingerprint))
            for devices in Self.audiences {
                laters.append(machine.messages.later(of: fingerprint, for: DedupeNames.audience(id, devices)))
            }
            for device in DedupeNames.devices {
                claimed.append(machine.deliveries.contains(DedupeNames.delivery(id, device)))
                endedOnly.append(machine.endedOnly.contains(DedupeNames.delivery(id, device)))
            }
        }
        for seq in 1...next { waiting.append(machine.pending.contains(seq)) }
        counts = [
            machine.messages.idCount, machine.messages.count, machine.deliveries.count, machine.endedOnly.count,
            machine.pending.count, machine.cancelledCount,
        ]
        refused = machine.refusedCount
        recovered = machine.recovered.keys.sorted()
        pinned = machine.pinned
    }

    /// All subsets of the devices. The empty one is the dynamic audience.
    static let audiences: [[Int]] = (0..<16).map { bits in (1...4).filter { bits >> ($0 - 1) & 1 == 1 } }

    var isEmpty: Bool { counts.allSatisfy { $0 == 0 } && recovered.isEmpty && pinned.isEmpty }

    var description: String { "counts \(counts), recovered \(recovered), pinned \(pinned)" }
}
