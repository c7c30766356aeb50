package import PushTime

/// One message for one device: the unit of deduplication, of attempts and of answers.
package struct Delivery: Sendable {
    /// The owner's name for the delivery, unique within the gateway. It comes back with the outcome.
    package let ticket: UInt64
    package let message: Message
    package let token: DeviceToken
    package let apnsID: APNSID
    /// The number of attempts that were written to a connection, including those that the provider is known not to have
    /// processed.
    package var attempt: UInt16
    /// Seconds since 1970: no attempt may begin at or after this time, even if ``Message/expiresAt`` allows it; 0 for
    /// no such bound. A `UInt32` fits into the padding at the end of the structure.
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

/// How one attempt to deliver ended. A connection reports exactly one for each delivery that it was given.
package enum DeliveryEnding: Sendable, Equatable {
    /// The provider accepted it: status 200. `uniqueID` is its name in the delivery log of the sandbox.
    case accepted(uniqueID: String?)
    /// The provider answered with a status other than 200.
    case refused(Refusal)
    /// The provider certainly did not process it: to send it again cannot cause a duplicate.
    case notProcessed
    /// It was written and no answer came: the provider may have processed it.
    case unknown(UnknownCause)
}

/// A provider's answer with a status other than 200.
package struct Refusal: Sendable, Equatable {
    package let status: Int
    /// The reason; nil if the answer contained none, or none that could be parsed.
    package let reason: ProviderReason?
    /// With status 410: milliseconds since 1970, the last moment at which the provider knew that the token was dead.
    package let timestamp: Int64?
    /// The value of `retry-after`, in seconds.
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
    /// No answer came within the deadline.
    case timeout
    /// The connection ended between the request and its answer.
    case connectionLost = "connection_lost"
    /// The provider reset the stream after it had received the request.
    case reset
}

/// A delivery that a connection has finished, with its ending.
package struct EndedDelivery: Sendable {
    package let delivery: Delivery
    package let ending: DeliveryEnding
    /// The time from sending the request to its answer; zero if the request was never sent.
    package let latency: Duration

    package init(_ delivery: Delivery, _ ending: DeliveryEnding, latency: Duration) {
        self.delivery = delivery
        self.ending = ending
        self.latency = latency
    }
}
