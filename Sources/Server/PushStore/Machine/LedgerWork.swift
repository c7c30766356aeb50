package import PushModel
package import PushTime

/// A call of the ledger that waits for the writing thread.
package enum LedgerWork: Sendable {
    case accept([PushRequest], @Sendable ([Acceptance]) -> Void)
    case record([DeliveryRecord], [CompletedMessage])
    case cancel([CancelRequest], @Sendable ([Cancellation]) -> Void)
    case endCancels([CancelEnd], [ClaimPage])
    case pause(AppID, WallTime?, @Sendable (LedgerFault?) -> Void)
    case note([EventDraft], (@Sendable (UInt64?) -> Void)?)
    case receipt(ReceivedReceipt, @Sendable (ReceiptIntake) -> Void)
    case claim([ClaimPage], @Sendable ([[ClaimVerdict]]) -> Void)
    case load([UInt64], @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void)
    case due(UnixSeconds, Int, @Sendable (Result<DueMessages, LedgerFault>) -> Void)
    case trim(LedgerRetention)
    case erase(UserErasure, ErasurePlace, @Sendable (Result<ErasureStep, LedgerFault>) -> Void)

    /// Answers the call with `fault`, because the ledger is closed. A claim gets no answer: it has no failure case, and
    /// its caller is shutting down as well.
    func refuse(_ fault: LedgerFault) {
        switch self {
        case .accept(let group, let reply): reply(Array(repeating: .failed(fault.description), count: group.count))
        case .cancel(let requests, let reply): reply(requests.map { _ in .failed(fault.description) })
        case .pause(_, _, let reply): reply(fault)
        case .note(_, let done): done?(nil)
        case .receipt(_, let reply): reply(.failed(fault.description))
        case .load(_, let reply): reply(.failure(fault))
        case .due(_, _, let reply): reply(.failure(fault))
        case .erase(_, _, let reply): reply(.failure(fault))
        case .record, .endCancels, .claim, .trim: break
        }
    }

    /// The number of requests, records and events in it, which determines how large a group gets. A large request counts
    /// for each KiB, so that a group does not fill the write-ahead log.
    var weight: Int {
        switch self {
        case .accept(let group, _): group.reduce(0) { $0 + max(1, $1.size >> 10) }
        case .record(let deliveries, let completed): deliveries.count + completed.count
        case .note(let events, _): events.count
        // A cancellation reads its messages.
        case .cancel(let requests, _): 8 * requests.count
        case .endCancels(let ends, _): ends.count
        case .pause, .receipt: 1
        // A group ends with it: it takes as long as a large group.
        case .erase: 8192
        case .claim, .load, .due, .trim: 0
        }
    }
}

/// The limits up to which the ledger keeps its data.
package struct LedgerRetention: Sendable, Equatable {
    /// The dedupe window: the time for which a message id is remembered for a device.
    package var window: Duration = .seconds(7 * 86_400)
    /// The maximum age of events. The log is trimmed by age and by size, whichever limit is reached first.
    package var logAge: Duration = .seconds(7 * 86_400)
    /// The maximum size of the stored events.
    package var logBytes: Int64 = 1 << 30
    /// The maximum number of remembered message ids and deliveries. At this limit new messages are refused until older
    /// ids are forgotten.
    package var keyLimit = 50_000_000
    /// The time for which the id of a notification is remembered. The App Store repeats one for a week at most, and a history
    /// that is read again after an outage goes back a few days.
    static let receiptWindow: Duration = .seconds(30 * 86_400)

    package init() {}
}
