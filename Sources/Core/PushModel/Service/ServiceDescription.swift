/// The words for one push service in texts for people. What its refusals mean is in its ``ReasonTable``.
///
/// A phrase begins in lower case and has no period, because it becomes a part of a sentence.
package struct ServiceDescription: Sendable, Equatable {
    /// Who runs the service, by the name that people know.
    package let owner: String
    /// What an address is called, such as "token".
    package let address: String
    /// What it speaks, such as "HTTP/2 over TLS".
    package var wireProtocol: String
    /// Whether it answers each notification. If not, only the lack of an error shows that one was accepted.
    package var answers: Bool
    /// What happened if it accepted a notification.
    package var accepted: String
    /// The name under which a request has the id of its delivery; nil if it has none.
    package let deliveryID: String?
    /// The name of the id that the service itself gives to a notification.
    package let providerID: String
    /// What to do about a credential that expires.
    package let renewal: String
    /// What to check if it rejects so many addresses that the app itself may be set up wrong.
    package let misdirection: String

    package init(
        owner: String, address: String, wireProtocol: String = "HTTP/2 over TLS", answers: Bool = true,
        accepted: String = "the provider accepted the notification; it does not report delivery",
        deliveryID: String? = nil, providerID: String = "provider-id", renewal: String, misdirection: String
    ) {
        self.owner = owner
        self.address = address
        self.wireProtocol = wireProtocol
        self.answers = answers
        self.accepted = accepted
        self.deliveryID = deliveryID
        self.providerID = providerID
        self.renewal = renewal
        self.misdirection = misdirection
    }
}
