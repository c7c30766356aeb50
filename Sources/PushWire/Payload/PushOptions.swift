package import PushModel
package import PushTime

/// What a payload is sent with, as far as its rules depend on it. Values are as somebody gave them, not yet believed.
package struct PushOptions: Sendable {
    package enum Target: Sendable, Equatable {
        case device(PushType)
        /// To the subscribers of a channel; a Live Activity always.
        case broadcast
    }

    package var target: Target
    /// Nil: the header is left out.
    package var priority: Int?
    /// Seconds since 1970; 0: one attempt; nil: the header is left out.
    package var expiration: Int64?
    package var collapseID: String?
    package var topic: String?
    /// Nil: expirations are not held against the clock.
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
            .device(message.pushType), priority: Int(message.priority.rawValue), expiration: message.expiresAt,
            collapseID: message.collapseID?.text, topic: topic?.text, now: now)
    }

    package var pushType: PushType {
        switch target {
        case .device(let type): type
        case .broadcast: .liveactivity
        }
    }

    /// The largest payload in bytes.
    package var payloadLimit: Int {
        switch target {
        case .device(let type): type.payloadLimit
        case .broadcast: PushType.broadcastPayloadLimit
        }
    }
}
