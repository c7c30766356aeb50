import PushLogic
import PushModel

/// The stored rows that a group needs and that are not in memory.
struct PartNeeds {
    /// The messages whose keys are needed.
    var keys: Set<UInt64> = []
    /// The waiting messages that are to be cancelled, by the first numbers of their rows.
    var waiting: [UInt64: [UInt64]] = [:]
    /// The scheduled messages that are to be cancelled.
    var scheduled: [UInt64] = []
    var cancellations: [UInt64] = []
    var receipts: [PartLookup.ReceiptID] = []

    var isEmpty: Bool {
        keys.isEmpty && waiting.isEmpty && scheduled.isEmpty && cancellations.isEmpty && receipts.isEmpty
    }

    /// Determines what a group needs.
    init(of group: LedgerGroup, _ machine: borrowing LedgerMachine, _ lookup: PartLookup) {
        for batch in group.requests {
            for index in 0..<batch.count { add(batch[index], machine, lookup) }
        }
        for cancel in group.cancels {
            for request in cancel.requests { add(request, machine, lookup) }
        }
        for (receipt, _) in group.receipts {
            let id = PartLookup.ReceiptID(app: receipt.app, id: receipt.id)
            if !lookup.isKnown(id) { receipts.append(id) }
        }
    }

    private mutating func add(_ request: PushRequest, _ machine: borrowing LedgerMachine, _ lookup: PartLookup) {
        let (app, identities) = (request.message.app, machine.identities)
        let fingerprint = identities.message(of: app, id: request.message.id)
        let known = machine.dedupe.storedKeys(for: fingerprint.value) {
            identities.audience(of: request.audience, for: request.message, as: fingerprint)
        }
        guard let known else { return }
        if !lookup.isKnown(key: known.first) { keys.insert(known.first) }
        if let later = known.later, !lookup.isKnown(key: later) { keys.insert(later) }
    }

    private mutating func add(_ request: CancelRequest, _ machine: borrowing LedgerMachine, _ lookup: PartLookup) {
        let known = machine.dedupe.known(machine.identities.message(of: request.app, id: request.id).value)
        if let number = known.cancellation {
            if machine.cancels.open[number] == nil, !lookup.isKnown(cancellation: number) {
                cancellations.append(number)
            }
        }
        for seq in known.messages where !lookup.isKnown(message: seq) {
            if let row = machine.dedupe.pending.row(of: seq), machine.dedupe.pending.contains(seq) {
                waiting[row, default: []].append(seq)
            } else if lookup.due.key(of: seq) != nil {
                scheduled.append(seq)
            }
        }
    }
}
