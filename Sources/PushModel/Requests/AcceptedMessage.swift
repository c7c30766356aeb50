/// A message that the ledger has taken, for those who carry it out.
package struct AcceptedMessage: Sendable {
    /// Its number in the ledger, and its name from now on.
    package let seq: UInt64
    /// Milliseconds since 1970.
    package let acceptedAt: Int64
    package let fingerprint: MessageFingerprint
    package let message: Message
    package let audience: Audience
    /// Whether somebody may have had it: then each device is claimed before it is sent to. Not so for the first message
    /// of an id that is for one token.
    package let needsClaim: Bool
    /// Whether the ledger keeps it until its time has come, and hands it out then.
    package let isScheduled: Bool
    /// What had become of its deliveries before the last restart.
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

    /// Bytes of memory that it takes up, about.
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

/// How many deliveries of a message ended how.
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

/// How a delivery ended for good.
package enum DeliveryEnd: UInt8, Sendable, CaseIterable {
    case sent = 1
    case rejected = 2
    case expired = 3
    case suppressed = 4
    /// Written, never answered, and not to be sent again.
    case unknown = 5
}

/// A lane of messages that wait: of one app, one priority, and for few or many.
package struct Lane: Hashable, Sendable {
    package let app: AppID
    package let priority: PushPriority
    /// For more than `briefLimit` devices, or for as many as the registry says.
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
