import PushModel
import PushTime

/// The calls that are committed together.
struct LedgerGroup {
    typealias Cancel = (place: Int, request: CancelRequest, reply: @Sendable (Cancellation) -> Void)

    var requests: [([PushRequest], @Sendable ([Acceptance]) -> Void)] = []
    /// The requests to cancel, each with the number of entries of `requests` that precede it.
    var cancels: [Cancel] = []
    /// The apps that are paused from now on, or with nil continue.
    var pauses: [(app: AppID, time: WallTime?, reply: @Sendable (LedgerFault?) -> Void)] = []
    var outcomes: [([DeliveryRecord], [CompletedMessage], [CancelEnd])] = []
    var notes: [([EventDraft], (@Sendable (UInt64?) -> Void)?)] = []
    var receipts: [(ReceivedReceipt, @Sendable (ReceiptIntake) -> Void)] = []

    /// The maximum number of events that are kept while writes fail. Beyond it the oldest are dropped, counted and
    /// reported, and their callers are answered with nil.
    static let notesKept = 10_000

    var isEmpty: Bool {
        requests.isEmpty && cancels.isEmpty && pauses.isEmpty && outcomes.isEmpty && notes.isEmpty
            && receipts.isEmpty
    }

    var requestCount: Int { requests.reduce(0) { $0 + $1.0.count } }

    /// The number of outcomes, which are kept while writes fail.
    var outcomeCount: Int { outcomes.reduce(0) { $0 + $1.0.count + $1.1.count + $1.2.count } }

    var weight: Int {
        requestCount + cancels.count + outcomeCount + notes.reduce(0) { $0 + $1.0.count } + receipts.count
    }
}

extension LedgerGroup {
    /// Answers the calls of a group that is stored, and notifies the witness. `cancelled` ends the group's cancellations
    /// and returns the orders that follow from them.
    ///
    /// - Parameter withMessages: Whether the witness is notified of the accepted messages.
    func announce(
        _ decided: borrowing DecidedGroup, to witness: (any LedgerWitness)?, withMessages: Bool = true,
        cancelled: () -> [CancelOrder]
    ) {
        for ((_, reply), replies) in zip(requests, decided.replies) { reply(replies) }
        if withMessages, !decided.accepted.isEmpty { witness?.accepted(decided.accepted) }
        let orders = cancelled()
        if !orders.isEmpty { witness?.cancelled(orders) }
        answerOthers(decided)
        publish(decided, to: witness)
        answerNotes(decided)
    }

    /// Answers the calls of a group that is stored, without the witness. `cancelled` ends the group's cancellations.
    func answer(_ decided: borrowing DecidedGroup, cancelled: () -> Void) {
        for ((_, reply), replies) in zip(requests, decided.replies) { reply(replies) }
        cancelled()
        answerOthers(decided)
        answerNotes(decided)
    }

    /// Notifies the witness of the events of a group that is stored.
    func publish(_ decided: borrowing DecidedGroup, to witness: (any LedgerWitness)?) {
        for segment in decided.rows.segments where segment.count > 0 { witness?.committed(segment) }
    }

    private func answerOthers(_ decided: borrowing DecidedGroup) {
        for (_, _, reply) in pauses { reply(nil) }
        for ((_, reply), result) in zip(receipts, decided.receipts) { reply(result) }
    }

    private func answerNotes(_ decided: borrowing DecidedGroup) {
        for ((_, done), number) in zip(notes, decided.notes) { done?(number) }
    }

    /// Answers all calls with a fault. Outcomes have no answer.
    func refuse(_ fault: LedgerFault) {
        for (requests, reply) in requests {
            reply(Array(repeating: .failed(fault.description), count: requests.count))
        }
        for (_, _, reply) in cancels { reply(.failed(fault.description)) }
        for (_, _, reply) in pauses { reply(fault) }
        for (_, reply) in receipts { reply(.failed(fault.description)) }
        for (_, done) in notes { done?(nil) }
    }
}
