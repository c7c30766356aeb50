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
    /// The JSON for the push service, byte for byte as the producer gave it.
    package let payload: [UInt8]
    package let onUnknown: UnknownPolicy
    /// No device receives the message before this time.
    package let notBefore: UnixSeconds?
    /// The trace context as the producer gave it, for events.
    package let traceparent: String?
    private let withdrawal = Atomic<Bool>(false)

    /// Whether the message was cancelled: no attempt to deliver it starts any more. Any thread may ask.
    package var isWithdrawn: Bool { withdrawal.load(ordering: .relaxed) }

    /// Marks the message as cancelled, for all deliveries that share this instance.
    package func withdraw() { withdrawal.store(true, ordering: .relaxed) }

    package init(
        id: MessageID, app: AppID, type: MessageType = .alert, kind: AddressKind = .alert,
        priority: PushPriority? = nil,
        expiry: Expiry = .unlimited, collapseID: CollapseID? = nil, payload: [UInt8],
        onUnknown: UnknownPolicy = .resend, notBefore: UnixSeconds? = nil, traceparent: String? = nil
    ) {
        self.id = id
        self.app = app
        self.type = type
        self.kind = kind
        self.priority = priority ?? type.defaultPriority
        self.expiry = expiry
        self.collapseID = collapseID
        self.payload = payload
        self.onUnknown = onUnknown
        self.notBefore = notBefore
        self.traceparent = traceparent
    }
}

/// What happens to a delivery that was written and never answered.
package enum UnknownPolicy: String, Sendable {
    /// It is sent again: a duplicate is better than a loss.
    case resend
    /// It is not sent again: a loss is better than a duplicate.
    case drop
}
