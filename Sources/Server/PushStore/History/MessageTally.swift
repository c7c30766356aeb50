import PushModel
import PushTime
import PushWire

/// The sum of the events of one message, which may be added in any order.
package struct MessageTally: Sendable {
    private var seq: UInt64?
    /// The highest numbers of its acceptances by part of the ledger: numbers of different parts have no order.
    private var accepted: [Int: UInt64] = [:]
    private var acceptedAt: WallTime?
    private var acceptances = 0
    private var duplicates = 0
    private var devices: UInt64? = 0
    private var isExpired = false
    private var cancellation: (seq: UInt64, client: String?)?
    private var completions = 0
    private var completedAt: WallTime?
    private var completed = MessageSummary.Counts()
    private var ended = MessageSummary.Counts()
    private var retries: UInt64 = 0
    private var displayed: UInt64 = 0
    private var opened: UInt64 = 0
    private var hasBegun = false
    private var refusal: (seq: UInt64, reason: String?, detail: String?)?
    private var request = MessageSummary.Request()
    /// The Live Activities of each acceptance, by its number. A message to several is accepted once for each.
    private var activities: [UInt64: [String]] = [:]
    /// The times at which a message with a local time goes out.
    private var turns: [WallTime] = []

    /// The number of its last acceptance, or of its rejection, by which lists are sorted.
    package var place: UInt64? { seq ?? refusal?.seq }
    package var isCompleted: Bool { completions >= max(acceptances, 1) }

    package mutating func add(_ entry: borrowing LogEntry) {
        let event = entry.event
        switch event.kind {
        case .messageAccepted:
            acceptances += 1
            let details = entry.details
            let asked = details?.request ?? MessageSummary.Request()
            if asked.atLocal != nil, let time = asked.notBeforeAt { turns.append(time) }
            if let names = asked.activities { activities[event.seq] = names }
            if event.seq > seq ?? 0 { request = asked }
            seq = max(seq ?? 0, event.seq)
            accepted[EventNumber.part(of: event.seq), default: 0] = max(
                accepted[EventNumber.part(of: event.seq)] ?? 0, event.seq)
            acceptedAt = acceptedAt.map { min($0, event.time) } ?? event.time
            let named = details?.number("devices")
            devices = devices.flatMap { sum in named.map { sum &+ UInt64(max(0, $0)) } }
        case .messageDuplicate: duplicates += 1
        case .messageRejected:
            guard event.seq > refusal?.seq ?? 0 else { return }
            let details = entry.details
            refusal = (event.seq, entry.reason, details?.text("detail"))
            if acceptances == 0 { request.client = details?.text("client") }
        case .messageExpired: isExpired = true
        case .messageCancelled:
            guard event.seq > cancellation?.seq ?? 0 else { return }
            cancellation = (event.seq, entry.details?.text("by"))
        case .messageCompleted:
            completions += 1
            completedAt = completedAt.map { max($0, event.time) } ?? event.time
            if let details = entry.details { completed += details.counts }
        case .deliverySent: ended.sent += 1
        case .deliveryRejected: ended.rejected += 1
        case .deliveryExpired: ended.expired += 1
        case .deliverySuppressed: ended.suppressed += 1
        case .deliverySuperseded: ended.superseded += 1
        case .deliveryDisplayed: displayed += 1
        case .deliveryOpened: opened += 1
        case .deliveryRetry: retries += 1
        case .deliveryUnknown:
            if entry.details?.flag("resend") == true { retries += 1 } else { ended.unknown += 1 }
        default: return
        }
        if event.kind.isDelivery { hasBegun = true }
    }

    /// The time of the first turn that is not completed; nil if none is left. Turns are completed in their order, nearly.
    private var nextTurn: WallTime? { completions < turns.count ? turns.sorted()[max(0, completions)] : nil }

    /// The Live Activities of all acceptances, each once.
    private var allActivities: [String] {
        var known: Set<ExactText> = []
        return activities.sorted { $0.key < $1.key }.flatMap { $0.value }.filter {
            known.insert(ExactText($0)).inserted
        }
    }

    private var isCancelled: Bool {
        guard let cancellation else { return false }
        return cancellation.seq > accepted[EventNumber.part(of: cancellation.seq)] ?? 0
    }

    package func answer(app: String, id: String, isWhole: Bool = true) -> MessageSummary {
        let state: MessageSummary.State =
            if acceptances == 0, completions == 0, !hasBegun, refusal != nil {
                .rejected
            } else if isCancelled {
                .cancelled
            } else if isCompleted {
                isExpired && completed.total == 0 ? .expired : .completed
            } else {
                hasBegun ? .sending : .waiting
            }
        var counts = isCompleted ? completed : ended
        (counts.displayed, counts.opened) = (displayed > 0 ? displayed : nil, opened > 0 ? opened : nil)
        let shown = seq.map { EventNumber.shown($0) }
        var request = request
        if !activities.isEmpty { request.activities = allActivities }
        if state != .cancelled, let next = nextTurn {
            (request.turnsLeft, request.notBeforeAt) = (turns.count - completions, next)
        }
        return MessageSummary(
            app: app, id: id, state: state, seq: shown?.number, part: shown.flatMap { $0.part == 0 ? nil : $0.part },
            acceptedAt: acceptedAt, acceptances: acceptances,
            duplicates: duplicates, devices: acceptances == 0 ? nil : devices, request: request,
            counts: counts, retries: retries, completedAt: isCompleted ? completedAt : nil,
            reason: state == .rejected ? refusal?.reason : nil, detail: state == .rejected ? refusal?.detail : nil,
            cancelledBy: state == .cancelled ? cancellation?.client : nil, isWhole: isWhole)
    }
}
