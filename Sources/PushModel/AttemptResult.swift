package import PushTime

/// The result of one attempt to deliver. A connection reports exactly one for each delivery that it was given.
package enum AttemptResult: Sendable, Equatable {
    /// The provider accepted it: status 200. `providerID` is its name in the delivery log of the sandbox.
    case accepted(providerID: String?)
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
    /// With status 410: the last moment at which the provider knew that the token was dead.
    package let timestamp: WallTime?
    /// The value of `retry-after`, in seconds.
    package let retryAfter: Int?

    package init(status: Int, reason: ProviderReason?, timestamp: WallTime? = nil, retryAfter: Int? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
    }

    /// Whether the provider gave it. Status 0 stands for a delivery that was never processed.
    package var isAnswer: Bool { status != 0 }
}

package enum UnknownCause: String, Sendable {
    /// No answer came within the deadline.
    case timeout
    /// The connection ended between the request and its answer.
    case connectionLost = "connection_lost"
    /// The provider reset the stream after it had received the request.
    case reset
}

/// A finished attempt, as a connection reports it to its gateway.
package struct AttemptReport: Sendable {
    package let delivery: Delivery
    package let result: AttemptResult
    /// The time from sending the request to its answer; zero if the request was never sent.
    package let latency: Duration

    package init(of delivery: Delivery, _ result: AttemptResult, latency: Duration) {
        self.delivery = delivery
        self.result = result
        self.latency = latency
    }
}
