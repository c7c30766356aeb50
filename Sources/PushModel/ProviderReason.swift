/// Why the provider refused, in its own word. The set is open: tomorrow's word is kept and classified by its status.
package struct ProviderReason: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package var description: String { rawValue }
}

/// What is to be done about an answer.
package enum Disposition: Sendable, Equatable, CaseIterable {
    /// Permanent, ours or the producer's fault: report it.
    case drop
    /// The token is dead or wrong for this topic: report it, with what the registry needs to decide.
    case deactivate
    /// Not now: again after a while, on any connection.
    case retry
    /// Again, on another connection; this one takes no more.
    case reconnect
    /// The provider token is too old: mint one, replace the connection, send again once.
    case renewToken
    /// The provider token was not believed: one attempt with a fresh one on a new connection, then `halt`.
    case renewTokenOnce
    /// Tokens were minted too often: keep the one there is, again after a while. Not the notification's fault.
    case slowMinting
    /// Nothing can go out with this credential until a person acts: keep the queue and raise an alarm.
    case halt
}
