import PushModel
import PushTime

/// The options of an envelope: how its message is to be sent.
struct EnvelopeOptions {
    var message: MessageOptions
    var notBefore: UnixSeconds?
    var local: EnvelopeReading.LocalOptions?
    var onUnknown: UnknownPolicy
    var again: Bool
    var traceparent: String?
}

extension EnvelopeReading {
    private static let policies = [UnknownPolicy.resend, .drop]
    private static let policyWords = WordTable(policies.map(\.rawValue))
    /// How long a message may be scheduled ahead: a year and a day.
    static let maxDelay: Int64 = 366 * 86_400

    func options(for codec: any ServiceCodec) throws(Rejection) -> EnvelopeOptions {
        let live = try activityOptions(for: codec)
        // Most envelopes name no type, and need no table.
        let type = position(.pushType) == nil ? live?.0 ?? MessageType.alert : try type(among: codec.types)
        if let live, type != live.0 {
            throw Rejection(.badField, detail: "push_type is \(type.word); live_activity needs \(live.0.word)")
        }
        try codec.check(type)
        // The ledger rejects expired messages, since it knows whether the message was accepted earlier.
        let expiry = try expiry()
        let priority = try priority(of: type, otherwise: live?.1 ?? type.defaultPriority, for: codec)
        let notBefore = try start(before: expiry)
        return EnvelopeOptions(
            message: MessageOptions(type: type, priority: priority, expiry: expiry, collapseID: try collapseID()),
            notBefore: notBefore, local: try localOptions(),
            onUnknown: try word(.onUnknown, of: Self.policyWords).map { Self.policies[$0] } ?? .resend,
            again: try flag(.again), traceparent: try traceparent())
    }

    private func type(among types: MessageTypes) throws(Rejection) -> MessageType {
        try word(.pushType, of: types.words).map { types.all[$0] } ?? .alert
    }

    private func priority(
        of type: MessageType, otherwise usual: PushPriority, for codec: any ServiceCodec
    ) throws(Rejection) -> PushPriority {
        guard let number = try integer(.priority) else { return usual }
        guard let priority = UInt8(exactly: number).flatMap(PushPriority.init(rawValue:)) else {
            throw Rejection(.badField, detail: "priority is \(number); it must be 10, 5 or 1")
        }
        try codec.check(priority, for: type)
        return priority
    }

    /// The last second that 32 bits can express. A time in milliseconds is always far beyond it.
    private static let latestEnd = Int64(UInt32.max)

    private func expiry() throws(Rejection) -> Expiry {
        guard let time = try integer(.expiresAt) else { return .unlimited }
        guard time <= Self.latestEnd else {
            throw Rejection(.badField, detail: "expires_at is after the year 2105; is it in seconds?")
        }
        return Expiry(expiresAt: time)
    }

    /// Returns the time as given, even if it has passed: it is part of the content that a message with a known id is
    /// compared with.
    private func start(before expiry: Expiry) throws(Rejection) -> UnixSeconds? {
        guard let time = try integer(.notBefore) else { return nil }
        guard time <= now.value + Self.maxDelay else {
            throw Rejection(.badField, detail: "not_before is more than a year and a day ahead; is it in seconds?")
        }
        let start = UnixSeconds(time)
        if case .at(let end) = expiry, start >= end {
            throw Rejection(.badField, detail: "not_before is not before expires_at")
        }
        return start
    }

    private func collapseID() throws(Rejection) -> CollapseID? {
        guard let position = position(.collapseID) else { return nil }
        try requireString(.collapseID, at: position)
        let text = json.string(position) ?? ""
        if let id = CollapseID(text) { return id }
        let count = text.utf8.count
        throw Rejection(
            .badField,
            detail: count > 64
                ? "collapse_id is \(count) bytes; 64 are allowed"
                : count == 0
                    ? "collapse_id is empty" : "collapse_id has a control character, or a space at the start or end")
    }

    private func traceparent() throws(Rejection) -> String? {
        guard let position = position(.traceparent) else { return nil }
        try requireString(.traceparent, at: position)
        let text = json.string(position) ?? ""
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
            throw Rejection(.badField, detail: "traceparent must be 1 to 128 printable ASCII characters")
        }
        return text
    }
}
