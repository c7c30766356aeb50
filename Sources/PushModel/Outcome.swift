/// What became of a delivery, as the gateway of its app reports it: each exactly once.
package enum DeliveryOutcome: Sendable, Equatable {
    /// Never "delivered": the provider's 200 is acceptance.
    case accepted(uniqueID: String?)
    /// For good. `deactivates`: the token is dead or wrong, and the registry is to weigh it.
    case rejected(Refusal, deactivates: Bool)
    /// Refused for now; to be given back not before this much later.
    case retry(after: Duration, Refusal)
    /// Written, never answered. The message's `onUnknown` decides what its owner does.
    case unknown(UnknownCause)
    /// Past its `expiresAt` before it could be sent.
    case expired
    /// Not sent: the gateway closed, or does not know the app. It is as before it was given.
    case returned
}

package struct DeliveryReport: Sendable {
    package let delivery: Delivery
    package let outcome: DeliveryOutcome
    /// From the last attempt's leaving to its answer.
    package let latency: Duration

    package init(_ delivery: Delivery, _ outcome: DeliveryOutcome, latency: Duration) {
        self.delivery = delivery
        self.outcome = outcome
        self.latency = latency
    }
}
