package import PushTime

/// What a producer asks to be sent, without whom it is for. Shared by all its deliveries, so it is made once and never
/// changes.
package final class Message: Sendable {
    package let id: MessageID
    package let app: AppID
    package let pushType: PushType
    package let priority: PushPriority
    /// Seconds since 1970; 0: one attempt, not stored; nil: the push service's own policy.
    package let expiresAt: Int64?
    package let collapseID: CollapseID?
    /// The JSON for the push service, byte for byte as it was given.
    package let payload: [UInt8]
    package let onUnknown: UnknownPolicy
    /// Seconds since 1970 before which nobody gets it.
    package let notBefore: Int64?
    /// As the producer gave it, for events.
    package let traceparent: String?

    package init(
        id: MessageID, app: AppID, pushType: PushType = .alert, priority: PushPriority? = nil, expiresAt: Int64? = nil,
        collapseID: CollapseID? = nil, payload: [UInt8], onUnknown: UnknownPolicy = .resend,
        notBefore: Int64? = nil, traceparent: String? = nil
    ) {
        self.id = id
        self.app = app
        self.pushType = pushType
        self.priority = priority ?? pushType.defaultPriority
        self.expiresAt = expiresAt
        self.collapseID = collapseID
        self.payload = payload
        self.onUnknown = onUnknown
        self.notBefore = notBefore
        self.traceparent = traceparent
    }

    /// With 0 the one attempt is now, whenever now is.
    package func isExpired(at time: WallTime) -> Bool {
        guard let expiresAt, expiresAt != 0 else { return false }
        return time.seconds >= expiresAt
    }
}

/// What becomes of a delivery that was written and never answered.
package enum UnknownPolicy: String, Sendable {
    /// Again: twice is better than never.
    case resend
    /// Not again: never is better than twice.
    case drop
}
