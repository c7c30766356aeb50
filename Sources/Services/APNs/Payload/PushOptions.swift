package import PushModel
package import PushTime

/// The options of a notification that its payload rules depend on. The values are unchecked input.
package struct PushOptions: Sendable {
    package enum Target: Sendable, Equatable {
        case device(PushType)
        /// The subscribers of a channel; the push type is always Live Activity.
        case broadcast
    }

    package var target: Target
    /// The priority; nil if the header is omitted.
    package var priority: Int?
    /// Seconds since 1970; 0 for one attempt; nil if the header is omitted.
    package var expiration: Int64?
    package var collapseID: String?
    package var topic: String?
    /// The current time; nil if expirations are not compared with the clock.
    package var now: WallTime?

    package init(
        _ target: Target, priority: Int? = nil, expiration: Int64? = nil, collapseID: String? = nil,
        topic: String? = nil, now: WallTime? = nil
    ) {
        self.target = target
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.topic = topic
        self.now = now
    }

    package init(_ message: Message, topic: Topic? = nil, now: WallTime? = nil) {
        self.init(
            .device(PushType(message.type)), priority: Int(message.priority.rawValue),
            expiration: message.expiry.expiresAt,
            collapseID: message.collapseID?.text, topic: topic?.text, now: now)
    }

    package var pushType: PushType {
        switch target {
        case .device(let type): type
        case .broadcast: .liveactivity
        }
    }

    /// Whether the notification is for the passes of Wallet with a pass type id. Its payload is an empty object.
    package var isForPass: Bool { topic?.hasPrefix(Self.passPrefix) ?? false }

    static let passPrefix = "pass."

    /// The largest payload in bytes.
    package var payloadLimit: Int {
        switch target {
        case .device(let type): type.payloadLimit
        case .broadcast: PushType.broadcastPayloadLimit
        }
    }
}
