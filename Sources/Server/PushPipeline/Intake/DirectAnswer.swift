package import PushModel

/// The answer to a request that reached intake by a call and not over ZeroMQ.
package struct DirectAnswer: Sendable {
    /// What became of the request.
    package enum Outcome: Sendable, Equatable {
        case accepted
        case duplicate
        case busy(retryAfterMilliseconds: Int64)
        case rejected(RejectionReason)
        /// The lines of a batch, each with its own ack.
        case lines
    }

    package let outcome: Outcome
    /// The ack as JSON, or one on each line, with a line end.
    package let text: [UInt8]
}

/// Receives an answer, on intake's loop.
package typealias DirectReply = @Sendable (DirectAnswer) -> Void

/// The sender of a request that reached intake by a call.
package struct DirectSender: Sendable {
    /// The name in logs, metrics and events; nil for a sender without one.
    package let name: String?
    /// The apps to which the sender may push; nil for all.
    package let apps: [AppID]?

    package init(name: String?, apps: [AppID]?) {
        self.name = name
        self.apps = apps
    }
}
