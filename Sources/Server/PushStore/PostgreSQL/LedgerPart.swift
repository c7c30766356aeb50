import PushLogic
import PushModel
import PushTime
import PushWire

/// The number and the time of a row of keys.
struct DatedRow {
    let number: UInt64
    let time: WallTime
}

/// The state of one part of the ledger that this node owns, and the calls that wait for its next group. Confined to the
/// ledger's loop.
final class LedgerPart {
    enum Phase {
        /// The part was read. Nothing of it is written.
        case loaded
        /// The part is to be carried out as soon as the outcomes of its former deliveries are stored.
        case opening
        /// The part is carried out.
        case serving
        /// The right to send has run out: outcomes are stored, and nothing is accepted.
        case suspended
        /// The part goes to another node: what was handed in is stored, and nothing is accepted.
        case closing
        /// The part is forgotten. Only a flush that is under way still knows it.
        case gone
    }

    let part: Int
    /// The epoch of this node's lease.
    let epoch: Int64
    var machine: LedgerMachine
    let lookup: PartLookup
    var phase = Phase.loaded
    /// When this node had read the part.
    var loadedAt = MonotonicTime(nanoseconds: .min)
    /// What waited in the part when it was read.
    var backlog: LedgerBacklog
    /// The last numbers when the part was read.
    let heads: [LogWriter.Head]
    let newestAtOpen: UInt64
    /// What of the part is needed.
    var horizon = LedgerHorizon()
    /// The number of the oldest event, or the number of the next one if there is none.
    var oldest: UInt64
    /// Whether its horizon is to be examined.
    var isUpkeepDue = false
    /// The calls that the next group commits.
    var waiting = LedgerGroup()
    /// Whether a flush or a reading of the database concerns this part. The next group waits for it.
    var isBusy = false
    /// Whether rows of keys are to be examined.
    var isTrimDue = true
    /// The times of the cancelled ids.
    var cancelTimes = CancelTimes()
    /// The cancelled ids that are forgotten and whose rows may still be there, by their numbers.
    var goneCancels: [UInt64] = []
    /// The first row of keys that is dated ahead, and the next one that is not, as far as it is known.
    var jump: (first: UInt64, end: DatedRow?)?
    /// Whether the last work was an examination, so that waiting calls are next.
    var hasTrimmed = false
    /// Whether the witness has forgotten the part.
    var isForgotten = false
    /// The announcements of groups that were stored before the part was opened.
    var unannounced: [() -> Void] = []
    /// The replies that wait until what was handed in is stored.
    var drained: [@Sendable () -> Void] = []
    /// The day of the newest group that contains the newest number of every topic, so that older groups can be
    /// dropped.
    private var headsDay: Int64 = 0

    init(
        _ part: Int, epoch: Int64, _ machine: consuming LedgerMachine, _ lookup: PartLookup, oldest: UInt64,
        backlog: LedgerBacklog
    ) {
        self.part = part
        self.epoch = epoch
        heads = machine.writer.topics
        newestAtOpen = machine.writer.next - 1
        self.machine = machine
        self.lookup = lookup
        self.backlog = backlog
        self.oldest = oldest
    }

    /// Whether this node writes groups of the part.
    var isWritten: Bool {
        switch phase {
        case .opening, .serving, .suspended, .closing: true
        case .loaded, .gone: false
        }
    }

    /// Whether the witness carries out the part.
    var isOpen: Bool { phase == .serving || phase == .suspended }

    /// Whether messages with an id are remembered, also those of a group that is being stored.
    func remembers(_ request: CancelRequest) -> Bool {
        let known = machine.dedupe.known(machine.identities.message(of: request.app, id: request.id).value)
        return known.cancellation != nil || !known.messages.isEmpty
    }

    /// Whether nothing of the part waits for the database.
    var isSettled: Bool { waiting.isEmpty && !isBusy }

    /// Decides upon the calls of a group, and appends the accepted messages to those of other parts. If that needs rows
    /// that are not in memory, nothing has happened.
    func decide(
        _ group: LedgerGroup, at now: WallTime, appending accepted: inout [AcceptedMessage]
    ) throws(MissingRow) -> DecidedGroup {
        var decided = try machine.decide(group, at: now, using: lookup, appending: &accepted)
        if headsDay != Self.day(of: now) { decided.rows.heads = machine.writer.topics }
        return decided
    }

    private static func day(of time: WallTime) -> Int64 { time.milliseconds / 86_400_000 }

    func commit(_ decided: borrowing DecidedGroup) {
        machine.commit(decided)
        headsDay = Self.day(of: decided.time)
        for message in decided.rows.scheduled { lookup.due.add(message.seq, due: message.due, key: message.key) }
        for seq in decided.rows.removedScheduled { lookup.due.remove(seq) }
        for new in decided.cancels.new {
            cancelTimes.add(
                CancelTimes.Cancelled(number: new.number, fingerprint: new.cancel.fingerprint), at: decided.time)
        }
        lookup.endGroup()
        if phase == .opening { restore(decided.rows.endedKeys) }
    }

    /// Takes the ended deliveries of an earlier opening as if they had been read with the part, so that the witness, which
    /// begins anew, does not send them again.
    private func restore(_ words: [UInt64]) {
        unsafe words.withUnsafeBytes { bytes in
            for index in 0..<(bytes.count / EndedKey.size) {
                let key = unsafe EndedKey(bytes, at: index)
                machine.dedupe.restore(key, isScheduled: lookup.due.key(of: key.seq) != nil)
            }
        }
    }

    func undo(_ decided: borrowing DecidedGroup) {
        machine.undo(decided)
        lookup.endGroup()
    }
}

extension LedgerPart {
    private static let outcomesAtOnce = 8

    func add(deliveries: ArraySlice<DeliveryRecord>) {
        guard let last = waiting.outcomes.indices.last, waiting.outcomes[last].1.isEmpty,
            waiting.outcomes[last].2.isEmpty
        else { return begin(deliveries: deliveries) }
        waiting.outcomes[last].0.append(contentsOf: deliveries)
    }

    private func begin(deliveries: ArraySlice<DeliveryRecord>) {
        var own: [DeliveryRecord] = []
        // Records of a part come one by one, and mostly several are stored at once.
        own.reserveCapacity(max(Self.outcomesAtOnce, deliveries.count))
        own += deliveries
        waiting.outcomes.append((own, [], []))
    }

    func add(completed message: CompletedMessage) {
        guard let last = waiting.outcomes.indices.last, waiting.outcomes[last].2.isEmpty
        else { return waiting.outcomes.append(([], [message], [])) }
        if waiting.outcomes[last].1.isEmpty { waiting.outcomes[last].1.reserveCapacity(Self.outcomesAtOnce) }
        waiting.outcomes[last].1.append(message)
    }

    /// Refuses the calls that wait for an answer. Outcomes and events stay.
    func refuseCalls(_ fault: LedgerFault) {
        var refused = LedgerGroup()
        swap(&refused.requests, &waiting.requests)
        swap(&refused.cancels, &waiting.cancels)
        swap(&refused.receipts, &waiting.receipts)
        refused.refuse(fault)
    }

    /// Takes back a group that could not be stored: its requests are refused, its outcomes and events are stored later.
    func takeBack(_ group: LedgerGroup, because fault: LedgerFault) {
        var refused = group
        refused.outcomes = []
        refused.notes = []
        refused.shared = []
        refused.refuse(fault)
        waiting.outcomes.insert(contentsOf: group.outcomes, at: 0)
        waiting.notes.insert(contentsOf: group.notes, at: 0)
        waiting.shared.insert(contentsOf: group.shared, at: 0)
    }

    /// Refuses all calls, and forgets what was handed in.
    func refuseAll(_ fault: LedgerFault) {
        exchange(&waiting, with: LedgerGroup()).refuse(fault)
        machine.refuseCancels()
    }
}
