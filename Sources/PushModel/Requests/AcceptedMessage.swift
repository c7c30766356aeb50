/// A message that the ledger has stored, ready to be carried out.
package struct AcceptedMessage: Sendable {
    /// The number in the ledger, which identifies the message from now on.
    package let seq: UInt64
    /// Milliseconds since 1970.
    package let acceptedAt: Int64
    package let fingerprint: MessageFingerprint
    package let message: Message
    package let audience: Audience
    /// Whether a device may already have received this message id; if so, each device is claimed before it is sent to.
    /// False for the first message of an id if it is for one token.
    package let needsClaim: Bool
    /// Whether the ledger keeps the message and releases it when it is due.
    package let isScheduled: Bool
    /// The outcomes of its deliveries before the last restart.
    package let counts: OutcomeCounts

    package init(
        seq: UInt64, acceptedAt: Int64, fingerprint: MessageFingerprint, message: Message, audience: Audience,
        needsClaim: Bool, isScheduled: Bool = false, counts: OutcomeCounts = OutcomeCounts()
    ) {
        self.seq = seq
        self.acceptedAt = acceptedAt
        self.fingerprint = fingerprint
        self.message = message
        self.audience = audience
        self.needsClaim = needsClaim
        self.isScheduled = isScheduled
        self.counts = counts
    }

    /// The approximate number of bytes in memory.
    package var size: Int {
        let named =
            switch audience {
            case .tokens(let tokens): tokens.count * 48
            case .devices(let devices): devices.count * 16
            case .users(let users): users.reduce(0) { $0 + 32 + $1.utf8.count }
            case .tags, .everyone: 512
            }
        return 512 + message.payload.count + named
    }
}

/// The numbers of deliveries of a message by final outcome.
package struct OutcomeCounts: Sendable, Hashable {
    package var sent: UInt32 = 0
    package var rejected: UInt32 = 0
    package var expired: UInt32 = 0
    package var suppressed: UInt32 = 0
    package var unknown: UInt32 = 0

    package init() {}

    package var total: UInt64 {
        UInt64(sent) + UInt64(rejected) + UInt64(expired) + UInt64(suppressed) + UInt64(unknown)
    }

    package mutating func add(_ end: DeliveryEnd) {
        switch end {
        case .sent: sent += 1
        case .rejected: rejected += 1
        case .expired: expired += 1
        case .suppressed: suppressed += 1
        case .unknown: unknown += 1
        }
    }
}

/// The final outcome of a delivery.
package enum DeliveryEnd: UInt8, Sendable, CaseIterable {
    case sent = 1
    case rejected = 2
    case expired = 3
    case suppressed = 4
    /// The request was written, never answered, and is not sent again.
    case unknown = 5
}

/// A lane of waiting messages: one app, one priority, and either few or many devices.
package struct Lane: Hashable, Sendable {
    package let app: AppID
    package let priority: PushPriority
    /// Whether the messages are for more than ``briefLimit`` names, or for devices that the registry determines.
    package let isBroad: Bool

    package static let briefLimit = 16

    package init(app: AppID, priority: PushPriority, isBroad: Bool) {
        self.app = app
        self.priority = priority
        self.isBroad = isBroad
    }

    package init(of message: Message, to audience: Audience) {
        self.init(
            app: message.app, priority: message.priority, isBroad: (audience.named ?? .max) > Self.briefLimit)
    }
}
