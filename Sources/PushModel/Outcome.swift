/// The outcome of a delivery, which the gateway of its app reports exactly once.
package enum DeliveryOutcome: Sendable, Equatable {
    /// The provider accepted it. The name is not "delivered", because a 200 means acceptance only.
    case accepted(uniqueID: String?)
    /// A permanent failure. `deactivates`: the token is dead or wrong, and the registry decides about the device.
    case rejected(Refusal, deactivates: Bool)
    /// A temporary refusal. The owner submits the delivery again no earlier than after this pause.
    case retry(after: Duration, Refusal)
    /// The request was written and never answered. ``Message/onUnknown`` decides what the owner does.
    case unknown(UnknownCause)
    /// ``Message/expiresAt`` passed before the delivery could be sent.
    case expired
    /// It was not sent, because the gateway closed or does not know the app. The delivery is unchanged.
    case returned
}

package struct DeliveryReport: Sendable {
    package let delivery: Delivery
    package let outcome: DeliveryOutcome
    /// The time from sending the last attempt to its answer.
    package let latency: Duration

    package init(_ delivery: Delivery, _ outcome: DeliveryOutcome, latency: Duration) {
        self.delivery = delivery
        self.outcome = outcome
        self.latency = latency
    }
}
