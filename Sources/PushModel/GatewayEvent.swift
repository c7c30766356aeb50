/// What happened to the connections and the credential of an app, for monitors. Nothing in it is secret.
package enum GatewayEvent: Sendable, Equatable {
    /// Why the number of connections that a gateway wants has changed.
    package enum ScaleCause: String, Sendable {
        case asked, busy, idle
    }

    // MARK: family `connection`

    case up(ConnectionID, address: String, streamLimit: Int)
    /// Also for an attempt that never came up, though not for each of those that fail in an outage for the same reason.
    /// `answered`: deliveries that were answered on it.
    case down(ConnectionID, address: String?, ConnectionEnd, age: Duration, answered: UInt64)
    case goAway(ConnectionID, address: String?, reason: ProviderReason?)
    case scaled(ScaleCause, connections: Int, minimum: Int, maximum: Int)
    /// Nothing is sent for at least this long: then one delivery tries, or the next attempt to connect does.
    case breakerOpened(for: Duration, BreakerCause)
    case breakerClosed

    // MARK: family `credential`

    /// An answer of the push service is about the credential. A fresh provider token may mend it; else
    /// `credentialFailed` follows.
    case credentialRefused(ConnectionFault)
    /// Nothing goes out until a person acts. The queue is kept.
    case credentialFailed(GatewayHalt)
    case credentialRotated
}

/// Why a gateway stopped using its push service for a while.
package enum BreakerCause: Sendable, Equatable {
    /// So many attempts to connect failed in a row, and no connection is left.
    case unreachable(attempts: Int)
    /// Most of the last answers, and to several devices, said that the service could not.
    case failing(answers: Int, of: Int)
    /// The service named a time.
    case asked
    /// The delivery that was to try found nothing better.
    case probeFailed
}

/// Why nothing can go out with a credential.
package struct GatewayHalt: Sendable, Equatable {
    package enum Kind: String, Sendable {
        /// The provider refused a delivery, or ended a connection, with a reason that no retry mends.
        case refused
        /// TLS did not come to pass: one side does not take the other's certificate.
        case certificate
        /// There is no provider token to send.
        case providerToken = "provider_token"
    }

    package let kind: Kind
    /// What happened, and what to do.
    package let message: String
    /// The provider's word for it, if there was one.
    package let reason: ProviderReason?

    package init(_ kind: Kind, _ message: String, reason: ProviderReason? = nil) {
        self.kind = kind
        self.message = message
        self.reason = reason
    }
}
