/// The facts about a request on which ``DedupeMachine`` decides.
package struct DedupeRequest: Sendable {
    /// The hash of the app and the message id.
    package let fingerprint: UInt64
    /// A hash of payload and options.
    package let content: UInt64
    /// A hash of the audience. For a single named device it is the fingerprint of the delivery.
    package let audience: UInt64
    /// The number of devices that the audience names. Nil if the registry determines them.
    package let namedCount: Int?
    /// Whether the registry determines the devices.
    package let isDynamic: Bool
    /// Whether to accept a known id once more, for devices that joined its dynamic audience since.
    package let again: Bool
    /// Whether the time until which the message is to be sent has passed.
    package let isExpired: Bool

    package init(
        fingerprint: UInt64, content: UInt64, audience: UInt64, namedCount: Int?, isDynamic: Bool = false,
        again: Bool = false, isExpired: Bool = false
    ) {
        self.fingerprint = fingerprint
        self.content = content & ~1
        self.audience = audience
        self.namedCount = namedCount
        self.isDynamic = isDynamic
        self.again = again
        self.isExpired = isExpired
    }
}

/// A decision on a request.
package enum DedupeDecision: Equatable, Sendable {
    /// The request is accepted with this number. The key is to be stored. The devices are to be claimed unless the key
    /// is for a single message.
    case new(seq: UInt64, key: AcceptedKey)
    /// The message with this number has the same id, content and audience.
    case duplicate(of: UInt64)
    /// The message with this number has the same id, and its key cannot be read. The request counts as a duplicate,
    /// because to send a message twice would be worse.
    case unverified(of: UInt64)
    /// The message with this number has the same id and another content.
    case conflict(with: UInt64)
    /// The request is not known and has expired.
    case expired
    /// As many ids and deliveries are remembered as the limit allows.
    case refused
}
