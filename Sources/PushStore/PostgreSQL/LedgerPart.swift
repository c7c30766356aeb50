import PushLogic
import PushModel
import PushTime

/// The state of one part of the ledger that this node owns, and the calls that wait for its next group. Confined to the
/// ledger's loop.
final class LedgerPart {
    let part: Int
    var machine: LedgerMachine
    let lookup: PartLookup
    /// The calls that the next group commits.
    var waiting = LedgerGroup()

    init(_ part: Int, _ machine: consuming LedgerMachine, _ lookup: PartLookup) {
        self.part = part
        self.machine = machine
        self.lookup = lookup
    }

    /// Decides upon the calls of a group whose needs are in memory.
    func decide(_ group: LedgerGroup, at now: WallTime) -> DecidedGroup {
        machine.decide(group, at: now, using: lookup)
    }

    func commit(_ decided: borrowing DecidedGroup) {
        machine.commit(decided)
        for message in decided.rows.scheduled { lookup.due.add(message.seq, due: message.due, key: message.key) }
        for seq in decided.rows.removedScheduled { lookup.due.remove(seq) }
        lookup.endGroup()
    }

    func undo(_ decided: borrowing DecidedGroup) {
        machine.undo(decided)
        lookup.endGroup()
    }
}
