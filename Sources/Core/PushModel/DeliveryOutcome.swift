/// What became of a delivery. The gateway reports it, the router counts and records it, and the event states it.
package enum DeliveryOutcome: Sendable, Equatable {
    /// The provider accepted it. The name is not "delivered", because status 200 means acceptance only. `providerID` is
    /// its name at the push service.
    case sent(providerID: ProviderID?)
    /// A permanent failure. `deactivates`: the address is dead or wrong, and the registry decides about the device.
    case rejected(Refusal, deactivates: DeviceEnd?)
    /// A temporary refusal: the delivery is sent again, no earlier than after this pause.
    case retry(Refusal, after: Duration)
    /// The request was written and never answered, or with an error that leaves open whether it was carried out.
    /// `isFinal`: the delivery is not sent again.
    case unknown(UnknownCause, isFinal: Bool)
    /// It was too late for an attempt.
    case expired
    /// It was too late for an attempt, for a reason besides the time.
    case expiredBecause(ExpiryReason)
    /// A newer message for the same Live Activity takes its place.
    case superseded(by: MessageID, seq: UInt64)
    /// It was never given to a gateway.
    case suppressed(Suppression)

    package enum Suppression: String, Sendable {
        /// The registry lists the device as inactive.
        case inactive
        /// The device already received a message with this id.
        case duplicate
        /// The registry does not know the device id.
        case unknownDevice = "unknown_device"
        /// The user of the device was erased.
        case erased
        /// The device belongs to another user since it was found.
        case reassigned
    }

    package enum ExpiryReason: String, Sendable, CaseIterable {
        /// No address of the Live Activity was registered in time, or the activity has ended.
        case noAddress = "no_address"
        /// A message that ends the Live Activity was accepted before.
        case ended
        /// The local time of the devices had passed when the message was accepted.
        case late
    }

    /// The address is stated to be of another kind than the message. The push service was not asked.
    package static let wrongKind = DeliveryOutcome.rejected(
        Refusal(status: 0, reason: ProviderReason(rawValue: "wrong_kind")), deactivates: nil)

    /// Returns the outcome of a temporary refusal: the end if the message has a single attempt. Without an answer there
    /// was no attempt.
    package static func refused(_ refusal: Refusal, retryAfter delay: Duration, of message: Message) -> DeliveryOutcome
    {
        message.expiry.isSingleAttempt && refusal.isAnswer
            ? .rejected(refusal, deactivates: nil) : .retry(refusal, after: delay)
    }

    /// Returns the outcome of an attempt that was never answered: the end if the message has a single attempt or its
    /// producer prefers a loss to a duplicate.
    package static func unanswered(_ cause: UnknownCause, of message: Message) -> DeliveryOutcome {
        .unknown(cause, isFinal: message.expiry.isSingleAttempt || message.onUnknown == .drop)
    }

    /// The final outcome; nil if the delivery is sent again.
    package var final: FinalOutcome? {
        switch self {
        case .sent: .sent
        case .rejected: .rejected
        case .retry: nil
        case .unknown(_, let isFinal): isFinal ? .unknown : nil
        case .expired, .expiredBecause: .expired
        case .superseded: .superseded
        case .suppressed: .suppressed
        }
    }

    /// Whether no other message with the same id is sent to the device. One that was not for the device leaves it free.
    package var holdsDevice: Bool {
        switch self {
        case .sent, .retry, .unknown, .expired, .expiredBecause, .superseded: true
        case .rejected(let refusal, _): refusal.isAnswer
        case .suppressed: false
        }
    }

    /// Whether the provider answered the last attempt.
    package var isAnswer: Bool {
        switch self {
        case .sent: true
        case .rejected(let refusal, _), .retry(let refusal, _): refusal.isAnswer
        case .unknown, .expired, .expiredBecause, .superseded, .suppressed: false
        }
    }
}

/// The final outcome of a delivery, as the ledger stores and counts it.
package enum FinalOutcome: UInt8, Sendable, CaseIterable {
    case sent = 1
    case rejected = 2
    case expired = 3
    case suppressed = 4
    /// The request was written, never answered, and is not sent again.
    case unknown = 5
    /// A newer message for the same Live Activity took its place.
    case superseded = 6
}

/// The numbers of deliveries of a message by final outcome.
package struct OutcomeCounts: Sendable, Hashable {
    package var sent: UInt32 = 0
    package var rejected: UInt32 = 0
    package var expired: UInt32 = 0
    package var suppressed: UInt32 = 0
    package var unknown: UInt32 = 0
    package var superseded: UInt32 = 0
    /// Deliveries that were not sent because the message was cancelled. They have no events and no outcome of their own.
    package var cancelled: UInt32 = 0
    /// Those among `suppressed` whose users get the message in an app of its family that comes first. They have no events
    /// and no outcome of their own.
    package var preferred: UInt32 = 0

    package init() {}

    /// Counts devices whose users get the message in an app that comes first.
    package mutating func addPreferred(_ count: Int) {
        let count = UInt32(clamping: count)
        suppressed = UInt32(clamping: UInt64(suppressed) + UInt64(count))
        preferred = UInt32(clamping: UInt64(preferred) + UInt64(count))
    }

    package var total: UInt64 { ended + UInt64(cancelled) }

    /// The number of deliveries that have a ``FinalOutcome``.
    package var ended: UInt64 {
        UInt64(sent) + UInt64(rejected) + UInt64(expired) + UInt64(suppressed) + UInt64(unknown)
            + UInt64(superseded)
    }

    package mutating func add(_ outcome: FinalOutcome) {
        switch outcome {
        case .sent: sent += 1
        case .rejected: rejected += 1
        case .expired: expired += 1
        case .suppressed: suppressed += 1
        case .unknown: unknown += 1
        case .superseded: superseded += 1
        }
    }
}
