import PushModel
import PushWire

/// Adds up what events say of one message, in whatever order they come.
struct MessageTally: Sendable {
    private var seq: UInt64?
    private var acceptedAt: Int64?
    private var acceptances = 0
    private var duplicates = 0
    private var devices: UInt64? = 0
    private var isExpired = false
    private var completions = 0
    private var completedAt: Int64?
    private var completed = MessageAnswer.Counts()
    private var ended = MessageAnswer.Counts()
    private var retries: UInt64 = 0
    private var hasBegun = false
    private var refusal: (seq: UInt64, reason: String?, detail: String?)?
    private var request = MessageAnswer.Request()

    /// The number of its last acceptance, or of what refused it: where it stands in a list.
    var place: UInt64? { seq ?? refusal?.seq }
    var isCompleted: Bool { completions >= max(acceptances, 1) }

    mutating func add(_ event: LoggedEvent, _ bytes: UnsafeRawBufferPointer) {
        switch event.kind {
        case .messageAccepted:
            acceptances += 1
            let details = EventDetails(event, bytes)
            if event.seq > seq ?? 0 { request = details?.request ?? MessageAnswer.Request() }
            seq = max(seq ?? 0, event.seq)
            acceptedAt = min(acceptedAt ?? event.time, event.time)
            let named = details?.number("devices")
            devices = devices.flatMap { sum in named.map { sum + UInt64(max(0, $0)) } }
        case .messageDuplicate: duplicates += 1
        case .messageRejected:
            guard event.seq > refusal?.seq ?? 0 else { return }
            let reason = event.reason.map { String(decoding: bytes[$0], as: UTF8.self) }
            let details = EventDetails(event, bytes)
            refusal = (event.seq, reason, details?.text("detail"))
            if acceptances == 0 { request.client = details?.text("client") }
        case .messageExpired: isExpired = true
        case .messageCompleted:
            completions += 1
            completedAt = max(completedAt ?? event.time, event.time)
            if let details = EventDetails(event, bytes) { completed += details.counts }
        case .deliverySent: ended.sent += 1
        case .deliveryRejected: ended.rejected += 1
        case .deliveryExpired: ended.expired += 1
        case .deliverySuppressed: ended.suppressed += 1
        case .deliveryRetry: retries += 1
        case .deliveryUnknown:
            if EventDetails(event, bytes)?.flag("resend") == true { retries += 1 } else { ended.unknown += 1 }
        default: return
        }
        if event.kind.isDelivery { hasBegun = true }
    }

    func answer(app: String, id: String, isWhole: Bool = true) -> MessageAnswer {
        let state: MessageAnswer.State =
            if acceptances == 0, completions == 0, !hasBegun, refusal != nil {
                .rejected
            } else if isCompleted {
                isExpired && completed.total == 0 ? .expired : .completed
            } else {
                hasBegun ? .sending : .waiting
            }
        return MessageAnswer(
            app: app, id: id, state: state, seq: seq, acceptedAt: acceptedAt, acceptances: acceptances,
            duplicates: duplicates, devices: acceptances == 0 ? nil : devices, request: request,
            counts: isCompleted ? completed : ended,
            retries: retries, completedAt: isCompleted ? completedAt : nil,
            reason: state == .rejected ? refusal?.reason : nil, detail: state == .rejected ? refusal?.detail : nil,
            isWhole: isWhole)
    }
}

/// The members of an event that only its kind has.
struct EventDetails {
    private let document: JSONDocument

    init(_ document: JSONDocument) {
        self.document = document
    }

    /// Nil if it has none that can be read.
    init?(_ event: LoggedEvent, _ bytes: UnsafeRawBufferPointer) {
        guard let range = event.details,
            let document = try? JSONDocument(
                [UInt8(ascii: "{")] + Array(bytes[range]) + [UInt8(ascii: "}")], depthLimit: EventRecord.depthLimit)
        else { return nil }
        self.document = document
    }

    func number(_ name: StaticString) -> Int64? {
        document.value(name, in: document.root).flatMap { document.integer($0) }
    }

    func text(_ name: StaticString) -> String? {
        document.value(name, in: document.root).flatMap { document.string($0) }
    }

    func flag(_ name: StaticString) -> Bool? {
        document.value(name, in: document.root).flatMap { document.bool($0) }
    }

    /// The request, as an acceptance event describes it.
    var request: MessageAnswer.Request {
        var request = MessageAnswer.Request()
        request.audience = text("audience")
        request.users = document.value("users", in: document.root).map { list in
            document.elements(list).compactMap { document.string($0) }
        }
        request.userCount = number("user_count")
        request.tags = document.value("tags", in: document.root).map { document.value(at: $0) }
        request.pushType = text("push_type")
        request.priority = number("priority")
        request.expiresAt = number("expires_at")
        request.notBeforeAt = number("not_before_at")
        request.collapseID = text("collapse_id")
        request.onUnknown = text("on_unknown")
        request.client = text("client")
        return request
    }

    var counts: MessageAnswer.Counts {
        var counts = MessageAnswer.Counts()
        guard let object = document.value("counts", in: document.root) else { return counts }
        func count(_ name: StaticString) -> UInt64 {
            UInt64(max(0, document.value(name, in: object).flatMap { document.integer($0) } ?? 0))
        }
        counts.sent = count("sent")
        counts.rejected = count("rejected")
        counts.expired = count("expired")
        counts.suppressed = count("suppressed")
        counts.unknown = count("unknown")
        return counts
    }
}
