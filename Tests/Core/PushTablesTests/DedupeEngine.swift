import PushModel
import PushTime
import TestSupport

@testable import PushLogic

/// A storage engine without a disk. It calls the machine in the order in which the ledger does, and a restart sees
/// only what was committed.
final class DedupeEngine {
    struct Fault: Error {}

    struct StoredRow {
        var time: Int64
        var keys: KeyRow
    }

    /// A row of waiting messages. `messages` has the index of each, and whether its devices are claimed.
    struct MessageRow {
        var first: UInt64
        var count: Int
        var messages: [(index: Int, needsClaim: Bool)]
    }

    /// The content of the disk.
    struct Disk {
        var rows: [StoredRow] = []
        var messages: [MessageRow] = []
        var scheduled: [UInt64: AcceptedKey] = [:]
        /// The cancelled ids, by fingerprint.
        var cancelled: [UInt64: (number: UInt64, time: Int64)] = [:]
        var next: UInt64 = 1

        /// Returns the key of a message that a row of keys contains.
        func storedKey(of seq: UInt64) -> AcceptedKey? {
            guard let row = rows.last(where: { $0.keys.number <= seq })?.keys,
                seq - row.number < UInt64(row.accepted.count)
            else { return nil }
            return row.accepted[Int(seq - row.number)]
        }
    }

    struct Request {
        var facts: DedupeRequest
        var isScheduled = false
    }

    struct Outcome {
        var seq: UInt64
        var delivery: UInt64
        var end: FinalOutcome
        var acceptedAt: Int64
    }

    var machine: DedupeMachine
    private(set) var disk = Disk()
    /// The number of lookups after which one throws an error.
    var lookupsUntilFault = Int.max

    init(window: Duration, limit: Int = .max) {
        machine = DedupeMachine(window: window, limit: limit)
    }

    // MARK: Groups

    /// Writes a group. Returns nil if the commit or a lookup fails.
    func write(
        _ requests: [Request] = [], outcomes: [Outcome] = [], completed: [UInt64] = [], at now: Int64,
        fails: Bool = false
    ) -> [DedupeDecision]? {
        var group = DedupeGroup(first: disk.next)
        var after = disk
        do {
            let decisions = try prepare(requests, outcomes, completed, at: now, &group, &after)
            if fails { throw Fault() }
            disk = after
            let first = group.first
            let accepted = group.accepted.count
            machine.commit(group)
            if let row = disk.messages.last, row.first >= first, row.first < first + UInt64(accepted) {
                machine.addPending(Self.segment(row))
            }
            return decisions
        } catch {
            machine.undo(group)
            return nil
        }
    }

    private func prepare(
        _ requests: [Request], _ outcomes: [Outcome], _ completed: [UInt64], at now: Int64,
        _ group: inout DedupeGroup, _ after: inout Disk
    ) throws(Fault) -> [DedupeDecision] {
        let before = disk
        var left = lookupsUntilFault
        func look<Value>(_ value: Value) throws(Fault) -> Value {
            left -= 1
            if left < 0 { throw Fault() }
            return value
        }
        var decisions: [DedupeDecision] = []
        var waiting: [(seq: UInt64, needsClaim: Bool)] = []
        for request in requests {
            let decision = try machine.decide(request.facts, in: &group) { (seq) throws(Fault) in
                try look(before.storedKey(of: seq) ?? before.scheduled[seq])
            }
            decisions.append(decision)
            guard case .new(let seq, let key) = decision else { continue }
            if request.isScheduled { after.scheduled[seq] = key } else { waiting.append((seq, !key.isSingle)) }
        }
        var row = KeyRow(number: group.first, accepted: group.accepted)
        for outcome in outcomes {
            let key = try machine.end(
                outcome.seq, as: outcome.end, holdsDevice: outcome.end != .suppressed,
                acceptedAt: WallTime(milliseconds: outcome.acceptedAt),
                at: WallTime(milliseconds: now), in: &group,
                delivery: { outcome.delivery },
                scheduledKey: { (seq) throws(Fault) in try look(before.scheduled[seq]) })
            if let key { row.ended.append(key) }
        }
        for seq in completed {
            let completion = try machine.complete(
                seq, in: &group, scheduledKey: { (seq) throws(Fault) in try look(before.scheduled[seq]) },
                hasStoredKey: { (seq) throws(Fault) in try look(before.storedKey(of: seq) != nil) })
            switch completion {
            case .rowDone(let first): after.messages.removeAll { $0.first == first }
            case .unscheduled: after.scheduled[seq] = nil
            case .done, .unknown: break
            }
        }
        row.completed = group.completed
        if let first = waiting.first?.seq, let last = waiting.last?.seq {
            after.messages.append(
                MessageRow(
                    first: first, count: Int(last - first) + 1,
                    messages: waiting.map { (Int($0.seq - first), $0.needsClaim) }))
        }
        if !(row.accepted.isEmpty && row.ended.isEmpty && row.completed.isEmpty) {
            after.rows.append(StoredRow(time: now, keys: row))
        }
        after.next += UInt64(group.accepted.count + outcomes.count + completed.count)
        return decisions
    }

    private static func segment(_ row: MessageRow, claims: Bool? = nil) -> PendingMessages.Segment {
        var segment = PendingMessages.Segment(first: row.first, count: row.count)
        for (index, needsClaim) in row.messages { segment.add(index, claims: claims ?? needsClaim) }
        return segment
    }

    /// Cancels an id in a group of its own. Returns nil if the commit fails.
    func cancel(_ id: Int, at now: Int64, fails: Bool = false) -> DedupeMachine.CancelDecision? {
        var group = DedupeGroup(first: disk.next)
        let fingerprint = DedupeNames.message(id)
        let scheduled = disk.scheduled
        let decision = machine.cancel(fingerprint, in: &group) { scheduled[$0] != nil }
        if fails {
            machine.undo(group)
            return nil
        }
        if case .new(let number, _) = decision { disk.cancelled[fingerprint] = (number, now) }
        machine.commit(group)
        return decision
    }

    private func trimCancelled(at now: Int64) {
        for (fingerprint, cancel) in disk.cancelled where isBeyondWindow(cancel.time, at: now) {
            disk.cancelled[fingerprint] = nil
            machine.forgetCancelled(fingerprint)
        }
    }

    func claim(_ id: Int, _ devices: [Int], lookupCount: Int = 0, for seq: UInt64) -> [ClaimVerdict] {
        machine.claim(devices.map { DedupeNames.delivery(id, $0) }, lookupCount: lookupCount, for: seq)
    }

    func first(of id: Int) -> UInt64? { machine.messages.first(of: DedupeNames.message(id)) }
    func nextKeyRow() -> DedupeMachine.NextKeyRow { machine.nextKeyRow() }
    func isBeyondWindow(_ time: Int64, at now: Int64) -> Bool {
        machine.isBeyondWindow(WallTime(milliseconds: time), at: WallTime(milliseconds: now))
    }
    func recoveredCounts(of seq: UInt64) -> OutcomeCounts { machine.recoveredCounts(of: seq) }

    // MARK: Trimming and restarting

    /// Removes some rows that are older than the window. Returns whether there may be more.
    func trim(at now: Int64, fails: Bool = false) -> Bool {
        var after = disk
        var forgotten: [ForgottenKeys] = []
        var hasMore = true
        for _ in 0..<8 {
            let next = machine.nextKeyRow()
            let found: Int?
            switch next {
            case .pinned(let number): found = after.rows.firstIndex { $0.keys.number == number }
            case .after(let number): found = after.rows.firstIndex { $0.keys.number > number }
            }
            guard let found, isBeyondWindow(after.rows[found].time, at: now) else {
                if case .pinned = next { continue }
                hasMore = false
                break
            }
            let row = after.rows[found].keys
            let scheduled = disk.scheduled
            let keys = machine.examine(
                row,
                scheduled: { first, count in
                    Set(scheduled.keys.filter { $0 >= first && $0 < first + UInt64(count) })
                }, hasStoredKey: { after.storedKey(of: $0) != nil })
            guard let keys else { continue }
            forgotten.append(keys)
            after.rows.remove(at: found)
        }
        if fails {
            machine.examineAllRowsAgain()
            return true
        }
        disk = after
        for keys in forgotten { machine.forget(keys) }
        trimCancelled(at: now)
        return hasMore
    }

    /// Replaces the machine by one that is built from what is stored.
    func restart() {
        machine = restored()
    }

    func restored() -> DedupeMachine {
        var fresh = DedupeMachine(window: machine.window, limit: machine.limit)
        for row in disk.messages { fresh.addPending(Self.segment(row, claims: true)) }
        let scheduled = disk.scheduled.sorted { $0.key < $1.key }.map {
            DedupeMachine.ScheduledMessage(seq: $0.key, fingerprint: $0.value.fingerprint, audience: $0.value.audience)
        }
        // An engine may read all at once, or one by one.
        for message in scheduled.prefix(1) { fresh.restore(scheduled: [message]) }
        fresh.restore(scheduled: Array(scheduled.dropFirst()))
        for row in disk.rows.map(\.keys) {
            fresh.restoreAccepted(row.accepted, from: row.number)
            fresh.restoreEnded(row.ended)
            for seq in row.completed { fresh.restoreCompleted(seq) }
        }
        for (fingerprint, cancel) in disk.cancelled { fresh.restoreCancelled(fingerprint, number: cancel.number) }
        let disk = disk
        fresh.finishRestoring { disk.storedKey(of: $0) ?? disk.scheduled[$0] }
        return fresh
    }

    /// Returns how many deliveries of done messages rows hold, for an id that scheduled messages have. A restart knows
    /// of no others.
    func sentTurns(of id: Int) -> UInt64 {
        let fingerprint = DedupeNames.message(id)
        guard disk.scheduled.values.contains(where: { $0.fingerprint == fingerprint }) else { return 0 }
        let sent = disk.rows.flatMap(\.keys.ended).filter { key in
            key.outcome == .sent && disk.scheduled[key.seq] == nil && !machine.pending.contains(key.seq)
                && disk.storedKey(of: key.seq)?.fingerprint == fingerprint
        }
        return UInt64(sent.count)
    }
}

/// Ids, devices and audiences of the tests, and their fingerprints.
enum DedupeNames {
    static let ids = 1...6
    static let devices = 1...4
    static let contents: [UInt64] = [2, 4]

    private static func mix(_ words: UInt64...) -> UInt64 {
        var sum: UInt64 = 0x1234_5678_9abc_def0
        for word in words {
            var random = SeededRandom(seed: sum ^ word)
            sum = random.next()
        }
        return sum
    }

    static func message(_ id: Int) -> UInt64 { mix(1, UInt64(id)) }
    static func delivery(_ id: Int, _ device: Int) -> UInt64 { mix(2, UInt64(id), UInt64(device)) }

    /// The hash of an audience. An empty list stands for all devices, as the registry determines them.
    static func audience(_ id: Int, _ devices: [Int]) -> UInt64 {
        if devices.count == 1 { return delivery(id, devices[0]) }
        return devices.reduce(mix(3, UInt64(id))) { $0 &+ mix(4, UInt64($1)) }
    }

    static func request(
        _ id: Int, to devices: [Int] = [1], content: UInt64 = 2, again: Bool = false, isExpired: Bool = false
    ) -> DedupeRequest {
        DedupeRequest(
            fingerprint: message(id), content: content, audience: audience(id, devices),
            namedCount: devices.isEmpty ? nil : devices.count, isDynamic: devices.isEmpty, again: again,
            isExpired: isExpired)
    }
}
