/// Something that happened to a delivery, on its way into the ledger.
package struct DeliveryRecord: Sendable {
    package enum What: Sendable {
        /// The provider took it.
        case sent(uniqueID: String?)
        case rejected(Refusal)
        /// Not for good: it goes out again.
        case retry(Refusal, after: Duration)
        /// `isFinal`: it is not sent again.
        case unknown(UnknownCause, isFinal: Bool)
        case expired
        case suppressed(Suppression)
    }

    package enum Suppression: String, Sendable {
        /// The registry knows that the device is gone.
        case inactive
        /// It had this message id already.
        case duplicate
        /// A device id that the registry does not know.
        case unknownDevice = "unknown_device"
    }

    /// The number of its message.
    package let seq: UInt64
    package let fingerprint: MessageFingerprint
    package let acceptedAt: Int64
    package let message: Message
    package let device: DeviceID
    /// Zero where nothing was sent or would have been: a device id that nobody knows has no token.
    package let apnsID: APNSID
    package let attempt: UInt16
    package let what: What

    package init(
        seq: UInt64, fingerprint: MessageFingerprint, acceptedAt: Int64, message: Message, device: DeviceID,
        apnsID: APNSID, attempt: UInt16, what: What
    ) {
        self.seq = seq
        self.fingerprint = fingerprint
        self.acceptedAt = acceptedAt
        self.message = message
        self.device = device
        self.apnsID = apnsID
        self.attempt = attempt
        self.what = what
    }

    /// How it ended; nil if it goes out again.
    package var end: DeliveryEnd? {
        switch what {
        case .sent: .sent
        case .rejected: .rejected
        case .retry: nil
        case .unknown(_, let isFinal): isFinal ? .unknown : nil
        case .expired: .expired
        case .suppressed: .suppressed
        }
    }
}

/// A message whose deliveries have all ended.
package struct CompletedMessage: Sendable {
    package let seq: UInt64
    package let message: Message
    package let counts: OutcomeCounts
    /// Past its `expires_at` before anybody was found for it: the whole of it expired.
    package let isExpired: Bool
    /// Why it ends although not everybody was sent to; nil in nearly all cases.
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

    /// How many events say it.
    package var eventCount: Int { 1 + (isExpired ? 1 : 0) + (failure == nil ? 0 : 1) }
}

/// What is wrong with a message that was accepted and can never be carried out: it ends with `message.rejected`, which
/// says this, before its `message.completed`. A class, since nearly all messages are handed on without one.
package final class MessageFailure: Sendable, Equatable {
    package let reason: String
    package let detail: String

    /// The registry can never answer who the message is for.
    package static func audience(_ detail: String) -> MessageFailure {
        MessageFailure(reason: RejectionReason.badAudience.rawValue, detail: detail)
    }

    /// The ledger cannot read the message that it accepted.
    package static func damaged(_ detail: String) -> MessageFailure {
        MessageFailure(reason: "damaged", detail: detail)
    }

    /// An operator has given up what waited of an app that nothing is sent for.
    package static let dropped = MessageFailure(
        reason: "dropped", detail: "the app has no gateway, and an operator dropped what waited of it")

    private init(reason: String, detail: String) {
        self.reason = reason
        self.detail = detail
    }

    package static func == (one: MessageFailure, other: MessageFailure) -> Bool {
        one.reason == other.reason && one.detail == other.detail
    }
}
