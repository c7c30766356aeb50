/// The result of one attempt to deliver. A connection reports exactly one for each delivery that it was given.
package enum AttemptResult: Sendable, Equatable {
    /// The provider accepted it: status 200. `providerID` is its name at the service.
    case accepted(providerID: ProviderID?)
    /// The provider answered with a status other than 200.
    case refused(Refusal)
    /// The provider certainly did not process it: to send it again cannot cause a duplicate.
    case notProcessed
    /// It was written and no answer came: the provider may have processed it.
    case unknown(UnknownCause)
}

package enum UnknownCause: String, Sendable {
    /// No answer came within the deadline.
    case timeout
    /// The connection ended between the request and its answer.
    case connectionLost = "connection_lost"
    /// The provider reset the stream after it had received the request.
    case reset
    /// The provider answered with an error after which it may have carried the request out all the same.
    case serverError = "server_error"
}

extension ReasonTable {
    /// Whether a request without an answer shows that the service itself fails, where an answer with 500 would: after a
    /// reset, the peer is there, has taken the request, and does not answer it.
    package func isTroubleOfProvider(_ cause: UnknownCause) -> Bool {
        cause == .reset && isTroubleOfProvider(Refusal(status: 500, reason: nil))
    }
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
