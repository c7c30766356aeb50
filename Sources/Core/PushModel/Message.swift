package import PushTime
import Synchronization

/// A notification as the producer requested it, without its audience. All deliveries of the message share one immutable
/// instance.
package final class Message: Sendable {
    package let id: MessageID
    package let app: AppID
    package let type: MessageType
    /// The kind of the addresses that the message may be sent to, besides those whose kind nobody has stated.
    package let kind: AddressKind
    package let priority: PushPriority
    package let expiry: Expiry
    package let collapseID: CollapseID?
    /// What the message does with Live Activities; nil for nearly all messages.
    package let activity: ActivityPart?
    /// The forms of the message, if its words depend on the device; nil for nearly all messages.
    package let wording: Wording?
    /// The apps in which a user gets the message rather than in this one, the first one first; empty for nearly all
    /// messages.
    package let preferred: [PreferredApp]
    /// The payload, unless it is put together when it is asked for.
    private let whole: [UInt8]
    /// The variant of a message with values; nil for all others.
    private let variant: UInt32?
    /// The forms after the first one of a message without values.
    private let localized: [Message]
    package let onUnknown: UnknownPolicy
    /// No device receives the message before this time.
    package let notBefore: UnixSeconds?
    /// The turn of a message that goes out at a local time; nil for nearly all messages.
    package let turn: LocalTurn?
    /// The trace context as the producer gave it, for events.
    package let traceparent: String?
    private let withdrawal = Atomic<Bool>(false)

    /// The JSON for the push service, byte for byte as the producer gave it. That for a user with values is put
    /// together for each call, so that no more of them are in memory than are being written.
    package var payload: [UInt8] { variant.flatMap { variant in wording?.payload(variant) } ?? whole }

    /// Whether the message was cancelled: no attempt to deliver it starts any more. Any thread may ask.
    package var isWithdrawn: Bool { withdrawal.load(ordering: .relaxed) || wording?.isWithdrawn == true }

    /// Marks the message as cancelled, for all deliveries that share this instance or are of another form of it.
    package func withdraw() {
        withdrawal.store(true, ordering: .relaxed)
        wording?.withdraw()
    }

    /// Whether the registry is asked about devices that the audience names by their tokens: kinds other than that of
    /// nearly all are not in memory, and neither are locales and time zones.
    package var asksForNamed: Bool { kind != .alert || wording != nil || turn != nil }

    /// The approximate number of bytes in memory.
    package var size: Int { 512 + whole.count + (wording?.size ?? 0) }

    /// Returns the message for one turn of a local time.
    package func at(_ time: UnixSeconds, in turn: LocalTurn) -> Message {
        Message(
            id: id, app: app, type: type, kind: kind, priority: priority, expiry: expiry, collapseID: collapseID,
            payload: whole, activity: activity, wording: wording, preferred: preferred, onUnknown: onUnknown,
            notBefore: time, turn: turn, traceparent: traceparent)
    }

    /// Returns the same message with another payload.
    func with(payload: [UInt8]) -> Message {
        Message(
            id: id, app: app, type: type, kind: kind, priority: priority, expiry: expiry, collapseID: collapseID,
            payload: payload, activity: activity, preferred: preferred, onUnknown: onUnknown, notBefore: notBefore,
            turn: turn, traceparent: traceparent)
    }

    package init(
        id: MessageID, app: AppID, type: MessageType = .alert, kind: AddressKind = .alert,
        priority: PushPriority? = nil,
        expiry: Expiry = .unlimited, collapseID: CollapseID? = nil, payload: [UInt8], activity: ActivityPart? = nil,
        wording: Wording? = nil, preferred: [PreferredApp] = [],
        onUnknown: UnknownPolicy = .resend, notBefore: UnixSeconds? = nil, turn: LocalTurn? = nil,
        traceparent: String? = nil
    ) {
        self.id = id
        self.app = app
        self.type = type
        self.kind = kind
        self.priority = priority ?? type.defaultPriority
        self.expiry = expiry
        self.collapseID = collapseID
        self.activity = activity
        self.wording = wording
        self.preferred = preferred
        whole = payload
        variant = nil
        self.onUnknown = onUnknown
        self.notBefore = notBefore
        self.turn = turn
        self.traceparent = traceparent
        guard let wording, wording.values == nil, wording.forms.count > 1 else {
            localized = []
            return
        }
        let first = Message(
            id: id, app: app, type: type, kind: kind, priority: priority, expiry: expiry, collapseID: collapseID,
            payload: payload, preferred: preferred, onUnknown: onUnknown, notBefore: notBefore, turn: turn,
            traceparent: traceparent)
        localized = wording.forms.dropFirst().map { Message(first, in: wording, whole: $0.payload, variant: nil) }
    }

    /// Creates a form of a message.
    private init(_ message: Message, in wording: Wording, whole: [UInt8], variant: UInt32?) {
        id = message.id
        app = message.app
        type = message.type
        kind = message.kind
        priority = message.priority
        expiry = message.expiry
        collapseID = message.collapseID
        activity = message.activity
        self.wording = wording
        preferred = message.preferred
        self.whole = whole
        self.variant = variant
        localized = []
        onUnknown = message.onUnknown
        notBefore = message.notBefore
        turn = message.turn
        traceparent = message.traceparent
    }

    /// Returns the form that a device gets. Forms by locale are made once; those with values are small, and their
    /// payloads are put together when they are written.
    package func form(_ variant: UInt32) -> Message {
        guard let wording else { return self }
        if wording.values != nil { return Message(self, in: wording, whole: [], variant: variant) }
        return variant > 0 && variant <= localized.count ? localized[Int(variant) - 1] : self
    }
}

/// What happens to a delivery that was written and never answered.
package enum UnknownPolicy: String, Sendable {
    /// It is sent again: a duplicate is better than a loss.
    case resend
    /// It is not sent again: a loss is better than a duplicate.
    case drop
}
