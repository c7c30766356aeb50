package import PushTime

/// One message for one device: what is deduped, attempted and answered.
package struct Delivery: Sendable {
    /// What its owner calls it, unlike any other that its gateway holds; comes back with its outcome.
    package let ticket: UInt64
    package let message: Message
    package let token: DeviceToken
    package let apnsID: APNSID
    /// 1 for the first. Counts what went onto a wire, also what was then known not to have been processed.
    package var attempt: UInt16
    /// Seconds since 1970: from then on no attempt may begin, although the message's `expiresAt` does not say so; 0 for no
    /// such bound. Small, so that it takes no more room than the end of the structure has to spare.
    package var latestStart: UInt32

    package init(
        ticket: UInt64, message: Message, token: DeviceToken, apnsID: APNSID, attempt: UInt16 = 0,
        latestStart: UInt32 = 0
    ) {
        self.ticket = ticket
        self.message = message
        self.token = token
        self.apnsID = apnsID
        self.attempt = attempt
        self.latestStart = latestStart
    }

    /// Whether it is too late for an attempt.
    package func isExpired(at time: WallTime) -> Bool {
        if latestStart != 0, time.seconds >= Int64(latestStart) { return true }
        return message.isExpired(at: time)
    }
}

/// How one attempt to deliver ended. Exactly one of these for each delivery that a connection was given.
package enum DeliveryEnding: Sendable, Equatable {
    /// The provider took it: status 200. `uniqueID` is what the sandbox's delivery log calls it.
    case accepted(uniqueID: String?)
    /// The provider answered, and not with 200.
    case refused(Refusal)
    /// It certainly was not processed: to send it again doubles nothing.
    case notProcessed
    /// It was written, and no answer came: it may have been processed.
    case unknown(UnknownCause)
}

/// An answer other than 200.
package struct Refusal: Sendable, Equatable {
    package let status: Int
    /// Nil when the answer named none that could be read.
    package let reason: ProviderReason?
    /// With 410: milliseconds since 1970, the last moment at which the token was known to be dead.
    package let timestamp: Int64?
    /// In seconds, as `retry-after` said it.
    package let retryAfter: Int?

    package init(status: Int, reason: ProviderReason?, timestamp: Int64? = nil, retryAfter: Int? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
    }

    package var disposition: Disposition { Disposition.of(status: status, reason: reason) }
}

package enum UnknownCause: String, Sendable {
    /// No answer within the deadline.
    case timeout
    /// The connection ended between the request and its answer.
    case connectionLost = "connection_lost"
    /// The provider reset the stream after it had the request.
    case reset
}

/// A delivery that a connection is done with.
package struct EndedDelivery: Sendable {
    package let delivery: Delivery
    package let ending: DeliveryEnding
    /// From the request's leaving to its answer; zero for what never left.
    package let latency: Duration

    package init(_ delivery: Delivery, _ ending: DeliveryEnding, latency: Duration) {
        self.delivery = delivery
        self.ending = ending
        self.latency = latency
    }
}
