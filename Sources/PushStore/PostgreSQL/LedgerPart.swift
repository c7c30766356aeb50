import PushLogic
import PushModel
import PushTime

/// The state of one part of the ledger that this node owns, and the calls that wait for its next group. Confined to the
/// ledger's loop.
final class LedgerPart {
    let part: Int
    /// The epoch of this node's lease.
    let epoch: Int64
    var machine: LedgerMachine
    let lookup: PartLookup
    /// The calls that the next group commits.
    var waiting = LedgerGroup()
    /// Whether a flush or a reading of the database concerns this part. The next group waits for it.
    var isBusy = false
    /// Whether rows of keys are to be examined.
    var isTrimDue = true
    /// Whether the last work was an examination, so that waiting calls are next.
    var hasTrimmed = false
    /// The day of the newest group that contains the newest number of every topic, so that older groups can be
    /// dropped.
    private var headsDay: Int64 = 0

    init(_ part: Int, epoch: Int64, _ machine: consuming LedgerMachine, _ lookup: PartLookup) {
        self.part = part
        self.epoch = epoch
        self.machine = machine
        self.lookup = lookup
    }

    /// Decides upon the calls of a group whose needs are in memory.
    func decide(_ group: LedgerGroup, at now: WallTime) -> DecidedGroup {
        var decided = machine.decide(group, at: now, using: lookup)
        if headsDay != Self.day(of: now) { decided.rows.heads = machine.writer.topics }
        return decided
    }

    private static func day(of time: WallTime) -> Int64 { time.milliseconds / 86_400_000 }

    func commit(_ decided: borrowing DecidedGroup) {
        machine.commit(decided)
        headsDay = Self.day(of: decided.time)
        for message in decided.rows.scheduled { lookup.due.add(message.seq, due: message.due, key: message.key) }
        for seq in decided.rows.removedScheduled { lookup.due.remove(seq) }
        lookup.endGroup()
    }

    func undo(_ decided: borrowing DecidedGroup) {
        machine.undo(decided)
        lookup.endGroup()
    }
}

extension LedgerPart {
    func add(deliveries: ArraySlice<DeliveryRecord>) {
        guard let last = waiting.outcomes.indices.last, waiting.outcomes[last].1.isEmpty,
            waiting.outcomes[last].2.isEmpty
        else { return waiting.outcomes.append((Array(deliveries), [], [])) }
        waiting.outcomes[last].0.append(contentsOf: deliveries)
    }

    func add(completed message: CompletedMessage) {
        guard let last = waiting.outcomes.indices.last, waiting.outcomes[last].2.isEmpty
        else { return waiting.outcomes.append(([], [message], [])) }
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
    func takeBack(_ group: LedgerGroup, _ fault: LedgerFault) {
        var refused = group
        refused.outcomes = []
        refused.notes = []
        refused.refuse(fault)
        waiting.outcomes.insert(contentsOf: group.outcomes, at: 0)
        waiting.notes.insert(contentsOf: group.notes, at: 0)
    }
}
