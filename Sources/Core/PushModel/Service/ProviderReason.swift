/// The reason that a provider gave for a refusal. The set is open: an unknown reason is kept and classified by its
/// status.
package struct ProviderReason: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible
{
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package init(stringLiteral value: String) {
        rawValue = value
    }

    package var description: String { rawValue }

    /// The label of all reasons that are not known.
    package static let otherLabel = "other"
}

/// The action that an answer requires.
package enum Disposition: Sendable, Equatable, CaseIterable {
    /// A permanent failure caused by Carillon or the producer: report it.
    case drop
    /// The token is dead or wrong for this topic: report it, with the evidence that the registry needs to decide.
    case deactivate
    /// A temporary failure: send again after a pause, on any connection.
    case retry
    /// Send again on another connection; this one accepts no more deliveries.
    case reconnect
    /// The provider token is too old: create a new one, replace the connection, send again once.
    case renewToken
    /// The provider rejected the provider token: make one attempt with a fresh token on a new connection, then ``halt``.
    case renewTokenOnce
    /// Provider tokens were renewed too often: keep the current one and send again after a pause. The notification is
    /// not at fault.
    case slowMinting
    /// Nothing can be sent with this credential until an operator fixes it: keep the queue and raise an alarm.
    case halt
}
