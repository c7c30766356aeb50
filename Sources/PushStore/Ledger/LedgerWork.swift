import PushModel

/// What was asked of the ledger, until its thread gets to it.
enum LedgerWork: Sendable {
    case accept([PushRequest], @Sendable ([Acceptance]) -> Void)
    case record([DeliveryRecord], [CompletedMessage])
    case note([EventDraft], (@Sendable (UInt64?) -> Void)?)
    case claim([ClaimPage], @Sendable ([[ClaimVerdict]]) -> Void)
    case load([UInt64], @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void)
    case due(Int64, Int, @Sendable (Result<DueMessages, LedgerFault>) -> Void)
    case trim(LedgerRetention)

    /// Nobody will see to it. Claims have no word for that, and whoever asked goes too.
    func refuse(_ fault: LedgerFault) {
        switch self {
        case .accept(let group, let reply): reply(Array(repeating: .failed(fault.description), count: group.count))
        case .note(_, let done): done?(nil)
        case .load(_, let reply): reply(.failure(fault))
        case .due(_, _, let reply): reply(.failure(fault))
        case .record, .claim, .trim: break
        }
    }

    /// How many things it brings.
    var weight: Int {
        switch self {
        case .accept(let group, _): group.count
        case .record(let deliveries, let completed): deliveries.count + completed.count
        case .note(let events, _): events.count
        case .claim, .load, .due, .trim: 0
        }
    }
}

/// How long things are kept.
package struct LedgerRetention: Sendable, Equatable {
    /// How long an id is remembered for a device.
    package var window: Duration = .seconds(7 * 86_400)
    /// Of events, whichever is reached first.
    package var logAge: Duration = .seconds(7 * 86_400)
    package var logBytes: Int64 = 1 << 30
    /// Message ids and deliveries that are remembered at most. From then on new messages are refused, until some are
    /// forgotten.
    package var keyLimit = 50_000_000

    package init() {}
}
