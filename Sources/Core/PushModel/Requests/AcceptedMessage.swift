package import PushTime

/// A message that the ledger has stored, ready to be carried out.
package struct AcceptedMessage: Sendable {
    /// The number in the ledger, which identifies the message from now on.
    package let seq: UInt64
    package let acceptedAt: WallTime
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
        seq: UInt64, acceptedAt: WallTime, fingerprint: MessageFingerprint, message: Message, audience: Audience,
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

    /// Whether the message is for users, and not for devices whoever uses them.
    package var isPersonal: Bool {
        if case .users = audience { return true }
        return message.wording?.values != nil
    }

    /// Whether the message names this user, and says the same to each.
    package func isAlsoFor(_ user: String?) -> Bool {
        guard let user, case .users(let users) = audience, message.wording?.values == nil else { return false }
        return users.contains { $0.isExactly(user) }
    }

    /// The time since which the message waits: its acceptance, or a later time for which it was scheduled.
    package var begin: WallTime { max(acceptedAt, message.notBefore.map { WallTime($0) } ?? .distantPast) }

    /// Returns the message with a time in the payload, if Carillon wrote the payload and it has another time.
    package func stamped(at time: UnixSeconds) -> AcceptedMessage {
        guard message.activity?.isStamped == true, !ActivityTimestamp.has(time, message.payload) else { return self }
        return AcceptedMessage(
            seq: seq, acceptedAt: acceptedAt, fingerprint: fingerprint,
            message: message.with(payload: ActivityTimestamp.payload(message.payload, at: time)), audience: audience,
            needsClaim: needsClaim, isScheduled: isScheduled, counts: counts)
    }

    /// Whether the devices are known only when they are looked up: the registry determines them, or each has its own time.
    package var isDynamic: Bool { audience.isDynamic || message.turn != nil }

    /// The approximate number of bytes in memory.
    package var size: Int { message.size + audience.size }
}

/// A lane of waiting messages: one app, one priority, and either few or many devices. The messages to named Live Activities
/// have one lane for each app, whatever their priority, so that they keep their order.
package struct Lane: Hashable, Sendable {
    package let app: AppID
    package let priority: PushPriority
    /// Whether the messages are for more than ``briefLimit`` names, or for devices that nothing names.
    package let isBroad: Bool
    /// Whether the messages are for named Live Activities.
    package let isOfActivities: Bool

    package static let briefLimit = 16

    package init(app: AppID, priority: PushPriority, isBroad: Bool) {
        self.app = app
        self.priority = priority
        self.isBroad = isBroad
        isOfActivities = false
    }

    /// The lane of the messages to named Live Activities.
    package init(activitiesOf app: AppID) {
        self.app = app
        priority = .ten
        isBroad = false
        isOfActivities = true
    }

    package init(of message: Message, to audience: Audience) {
        if case .activities = audience {
            self.init(activitiesOf: message.app)
        } else {
            self.init(app: message.app, priority: message.priority, isBroad: audience.nameCount > Self.briefLimit)
        }
    }
}
