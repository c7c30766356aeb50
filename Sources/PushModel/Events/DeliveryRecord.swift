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

    package init(seq: UInt64, message: Message, counts: OutcomeCounts, isExpired: Bool = false) {
        self.seq = seq
        self.message = message
        self.counts = counts
        self.isExpired = isExpired
    }
}
