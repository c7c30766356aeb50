/// One known reason of a push service: its status and its consequences.
package struct KnownReason: Sendable {
    package let status: Int
    /// The canonical name, followed by every other spelling that was observed.
    package let names: [String]
    package let disposition: Disposition
    package let concern: RefusalConcern
    /// Whether the service answers so to every address if the app is set up for another environment or topic.
    package let isMisdirected: Bool
    /// Whether the credential lacks the right to send this.
    package let isForbidden: Bool
    /// What happened, as text for people.
    package let meaning: String
    /// What to do about it.
    package let advice: String

    package init(
        _ status: Int, names: [String], disposition: Disposition, concern: RefusalConcern, isMisdirected: Bool = false,
        isForbidden: Bool = false, meaning: String, advice: String
    ) {
        self.status = status
        self.names = names
        self.disposition = disposition
        self.concern = concern
        self.isMisdirected = isMisdirected
        self.isForbidden = isForbidden
        self.meaning = meaning
        self.advice = advice
    }

    package var reason: ProviderReason { ProviderReason(rawValue: names[0]) }
}

/// What a refusal concerns, and so how far it reaches beyond the one notification.
package enum RefusalConcern: String, CaseIterable, Sendable {
    case notification, device, channel
    /// Every notification of that topic, and so of that push type, would end the same way; others would not.
    case topic
    case credential, connection, provider
}
