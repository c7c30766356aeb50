package import PushTime

/// An event of a delivery, to be written to the ledger.
package struct DeliveryRecord: Sendable {
    /// The number of the message in the ledger.
    package let seq: UInt64
    package let fingerprint: MessageFingerprint
    package let acceptedAt: WallTime
    package let message: Message
    package let device: DeviceID
    /// Zero if nothing was sent or could have been: an unknown device id has no token.
    package let deliveryID: DeliveryID
    package let attempt: UInt16
    package let outcome: DeliveryOutcome

    package init(
        seq: UInt64, fingerprint: MessageFingerprint, acceptedAt: WallTime, message: Message, device: DeviceID,
        deliveryID: DeliveryID, attempt: UInt16, outcome: DeliveryOutcome
    ) {
        self.seq = seq
        self.fingerprint = fingerprint
        self.acceptedAt = acceptedAt
        self.message = message
        self.device = device
        self.deliveryID = deliveryID
        self.attempt = attempt
        self.outcome = outcome
    }
}

/// A message whose deliveries have all ended.
package struct CompletedMessage: Sendable {
    package let seq: UInt64
    package let message: Message
    package let counts: OutcomeCounts
    /// Whether the whole message expired, because `expires_at` passed before any device was found.
    package let isExpired: Bool
    /// Why the message ended before all devices were sent to; nil in nearly all cases.
    package let failure: MessageFailure?

    package init(
        seq: UInt64, message: Message, counts: OutcomeCounts, isExpired: Bool = false, failure: MessageFailure? = nil
    ) {
        self.seq = seq
        self.message = message
        self.counts = counts
        self.isExpired = isExpired
        self.failure = failure
    }
}

/// Why an accepted message can never be carried out. The message ends with a `message.rejected` event that contains
/// this reason, followed by its `message.completed`. A class, because nearly all messages have none and the reference
/// is small.
package final class MessageFailure: Sendable, Equatable {
    package let reason: String
    package let detail: String

    /// Returns the failure of a message whose audience the registry can never resolve.
    package static func audience(_ detail: String) -> MessageFailure {
        MessageFailure(reason: RejectionReason.badAudience.rawValue, detail: detail)
    }

    /// Returns the failure of a message that was accepted and cannot be read from the ledger any more.
    package static func damaged(_ detail: String) -> MessageFailure {
        MessageFailure(reason: "damaged", detail: detail)
    }

    /// An operator discarded the waiting messages of an app that has no gateway.
    package static let dropped = MessageFailure(
        reason: "dropped", detail: "the app has no gateway, and an operator dropped its waiting messages")

    private init(reason: String, detail: String) {
        self.reason = reason
        self.detail = detail
    }

    package static func == (one: MessageFailure, other: MessageFailure) -> Bool {
        one.reason == other.reason && one.detail == other.detail
    }
}
