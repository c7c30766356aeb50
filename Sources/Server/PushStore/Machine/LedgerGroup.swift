import PushModel
import PushTime

/// The calls that are committed together.
struct LedgerGroup {
    /// The requests of a call to cancel: one, or one for each app of a family.
    typealias Cancel = (place: Int, requests: [CancelRequest], reply: @Sendable ([Cancellation]) -> Void)

    var requests: [RequestBatch] = []
    /// The calls to cancel, each with the number of entries of `requests` that precede it.
    var cancels: [Cancel] = []
    /// The apps that are paused from now on, or with nil continue.
    var pauses: [(app: AppID, time: WallTime?, reply: @Sendable (LedgerFault?) -> Void)] = []
    var outcomes: [([DeliveryRecord], [CompletedMessage], [CancelEnd])] = []
    var notes: [([EventDraft], (@Sendable (UInt64?) -> Void)?)] = []
    /// The events whose rows are removed with this group. Each is told when it is stored or refused.
    var shared: [(SharedEvent, () -> Void)] = []
    var receipts: [(ReceivedReceipt, @Sendable (ReceiptIntake) -> Void)] = []

    /// The maximum number of events that are kept while writes fail. Beyond it the oldest are dropped, counted and
    /// reported, and their callers are answered with nil.
    static let notesKept = 10_000

    var isEmpty: Bool {
        requests.isEmpty && cancels.isEmpty && pauses.isEmpty && outcomes.isEmpty && notes.isEmpty
            && shared.isEmpty && receipts.isEmpty
    }

    /// Whether a request with an id waits.
    func contains(_ id: MessageID) -> Bool {
        requests.contains { batch in (0..<batch.count).contains { batch[$0].message.id == id } }
    }

    var requestCount: Int { requests.reduce(0) { $0 + $1.count } }

    /// The number of outcomes, which are kept while writes fail.
    var outcomeCount: Int { outcomes.reduce(0) { $0 + $1.0.count + $1.1.count + $1.2.count } }

    var weight: Int {
        requestCount + cancelCount + outcomeCount + notes.reduce(0) { $0 + $1.0.count } + shared.count
            + receipts.count
    }

    var cancelCount: Int { cancels.reduce(0) { $0 + $1.requests.count } }
}

/// The calls of one part that are stored at once.
extension LedgerGroup {
    /// The number of cancellations that are stored at once. Each reads its messages, of which one may name 100,000 tokens.
    static let maxCancels = 16
    /// The bytes of requests after which a group ends. A request that is larger is stored alone.
    static let byteLimit = 16 << 20

    /// The approximate number of bytes of what ``takeFirst()`` takes.
    var firstBytes: Int {
        var bytes = 0
        for batch in requests where bytes < Self.byteLimit { bytes += batch.byteCount }
        return bytes
    }

    /// The number of calls to cancel that ``takeFirst()`` takes at most. The requests of a call stay together.
    private var firstCancels: Int {
        var requests = 0
        let fitting = cancels.prefix { cancel in
            requests += cancel.requests.count
            return requests <= Self.maxCancels
        }
        return max(1, fitting.count)
    }

    /// Removes and returns the calls that are stored at once. Requests and cancellations keep their order; whatever else
    /// waits is small, and is taken as a whole.
    mutating func takeFirst() -> LedgerGroup {
        var count = 0
        var bytes = 0
        while count < requests.count, bytes < Self.byteLimit {
            bytes += requests[count].byteCount
            count += 1
        }
        // The first cancellation that is left, and the requests after it.
        let limit = firstCancels
        if cancels.count > limit { count = min(count, cancels[limit].place) }
        let taken = min(limit, cancels.count { $0.place <= count })
        if count == requests.count, taken == cancels.count { return exchange(&self, with: LedgerGroup()) }
        var first = self
        first.requests = Array(requests[..<count])
        first.cancels = Array(cancels[..<taken])
        var rest = LedgerGroup()
        rest.requests = Array(requests[count...])
        rest.cancels = cancels[taken...].map { ($0.place - count, $0.requests, $0.reply) }
        self = rest
        return first
    }

    /// Puts calls back that ``takeFirst()`` has taken.
    mutating func putBack(_ first: LedgerGroup) {
        var all = first
        all.requests += requests
        all.cancels += cancels.map { ($0.place + first.requests.count, $0.requests, $0.reply) }
        self = all
    }
}

extension LedgerGroup {
    /// Answers the calls of a group that is stored, and notifies the witness. `cancelled` ends the group's cancellations
    /// and returns the orders that follow from them.
    func announce(
        _ decided: borrowing DecidedGroup, to witness: (any LedgerWitness)?, cancelled: () -> [CancelOrder]
    ) {
        answerRequests(decided)
        if !decided.accepted.isEmpty { witness?.accepted(decided.accepted) }
        answerCancels(decided, to: witness, cancelled: cancelled)
        let segments = decided.rows.segments.filter { $0.count > 0 }
        if !segments.isEmpty { witness?.committed(segments) }
        answerNotes(decided)
    }

    /// Answers the calls of a group that is stored, without the witness. `cancelled` ends the group's cancellations.
    func answer(_ decided: borrowing DecidedGroup, cancelled: () -> Void) {
        answerRequests(decided)
        cancelled()
        answerOthers(decided)
        answerNotes(decided)
    }

    /// The first part of ``announce(_:to:cancelled:)``: answers the requests. The accepted messages follow.
    func answerRequests(_ decided: borrowing DecidedGroup) {
        var start = 0
        for batch in requests {
            batch.answer(decided.replies[start..<start + batch.count])
            start += batch.count
        }
    }

    /// The second part: answers what follows the accepted messages and precedes the events.
    func answerCancels(
        _ decided: borrowing DecidedGroup, to witness: (any LedgerWitness)?, cancelled: () -> [CancelOrder]
    ) {
        let orders = cancelled()
        if !orders.isEmpty { witness?.cancelled(orders) }
        answerOthers(decided)
    }

    private func answerOthers(_ decided: borrowing DecidedGroup) {
        for (_, _, reply) in pauses { reply(nil) }
        for ((_, reply), result) in zip(receipts, decided.receipts) { reply(result) }
    }

    /// The last part, after the events.
    func answerNotes(_ decided: borrowing DecidedGroup) {
        for ((_, done), number) in zip(notes, decided.notes) { done?(number) }
        for (_, done) in shared { done() }
    }

    /// Answers all calls with a fault. Outcomes have no answer.
    func refuse(_ fault: LedgerFault) {
        for batch in requests { batch.answer(.failed(fault.description)) }
        for (_, requests, reply) in cancels { reply(requests.map { _ in .failed(fault.description) }) }
        for (_, _, reply) in pauses { reply(fault) }
        for (_, reply) in receipts { reply(.failed(fault.description)) }
        for (_, done) in notes { done?(nil) }
        for (_, done) in shared { done() }
    }
}
