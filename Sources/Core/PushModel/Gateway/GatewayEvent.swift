/// An event of the connections or the credential of an app, for monitoring. It contains nothing secret.
package enum GatewayEvent: Sendable, Equatable {
    /// Why the number of connections that a gateway wants changed.
    package enum ScaleCause: String, Sendable {
        case asked, busy, idle
    }

    // MARK: The family `connection`

    case up(ConnectionID, address: String, streamLimit: Int)
    /// Reported also for an attempt that failed to connect; in an outage not for every attempt that fails for the same
    /// reason. `answered` is the number of deliveries that were answered on the connection.
    case down(ConnectionID, address: String?, ConnectionEnd, age: Duration, answered: UInt64)
    case goAway(ConnectionID, address: String?, reason: ProviderReason?)
    case scaled(ScaleCause, connections: Int, minimum: Int, maximum: Int)
    /// Sending is paused for at least this long. Then one delivery probes the service, or the next attempt to connect
    /// does.
    case breakerOpened(for: Duration, BreakerCause)
    case breakerClosed

    // MARK: The family `credential`

    /// An answer of the push service concerns the credential. If a fresh provider token does not help,
    /// ``credentialFailed(_:)`` follows.
    case credentialRefused(ConnectionFault)
    /// There is no token for a new credential. Connections with the one before still send.
    case tokenFailed(GatewayHalt)
    /// Sending stopped. The queue is kept, and single deliveries try whether the credential is accepted again.
    case credentialFailed(GatewayHalt)
    /// The push service accepted a delivery with a credential that it had refused. Sending continues.
    case credentialAccepted
    case credentialRotated
}

/// Why a circuit breaker opened and paused sending.
package enum BreakerCause: Sendable, Equatable {
    /// This many attempts to connect failed in a row, and no connection is left.
    case unreachable(attempts: Int)
    /// This many attempts to connect failed in a row, and another node of the cluster finds the service failing.
    case unreachableForOthers(attempts: Int)
    /// Most of the recent answers, for several devices, were failures of the service.
    case failing(answers: Int, of: Int)
    /// Most of the answers of one batch were failures of the service, and another node of the cluster finds it failing.
    case failingForOthers(answers: Int, of: Int)
    /// The service asked for a pause with `retry-after`.
    case asked
    /// One of several push services has failed several times in a row. The others are sent to.
    case origin(FailingOrigin)
    /// The delivery that probed the service failed as well.
    case probeFailed
}

/// Why a gateway cannot send with its credential.
package struct GatewayHalt: Sendable, Equatable {
    package enum Kind: String, Sendable {
        /// The provider refused a delivery, or ended a connection, with a reason that no retry can fix.
        case refused
        /// The TLS handshake failed because one side rejects the certificate of the other.
        case certificate
        /// No provider token is available.
        case providerToken = "provider_token"
    }

    package let kind: Kind
    /// What happened, and what to do.
    package let message: String
    /// The reason that the provider gave, if any.
    package let reason: ProviderReason?
    /// Why the service that gives provider tokens was not reached; nil if it is not that.
    package let unreached: ConnectionFault.Code?

    package init(
        _ kind: Kind, message: String, reason: ProviderReason? = nil, unreached: ConnectionFault.Code? = nil
    ) {
        self.kind = kind
        self.message = message
        self.reason = reason
        self.unreached = unreached
    }
}
