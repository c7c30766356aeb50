package import PushModel

/// What one batch of ended deliveries says about the connection and the service, without the deliveries.
package struct AnswerTally: Sendable, Equatable {
    /// All of them.
    package var ended = 0
    package var accepted = 0
    /// Answered otherwise than with 200, by a service that works: about a device, a topic, a credential.
    package var refused = 0
    /// Answered with trouble of the service itself.
    package var failed = 0
    package var failedDevices = FewDevices()
    package var unknown = 0
    package var notProcessed = 0

    /// The longest `Retry-After` that came with trouble of the service itself.
    package var pause: Duration?
    /// An answer asked for another connection.
    package var asksForAnother = false
    /// The newest provider token that was refused: too old, or not believed.
    package var refusedToken: UInt64?
    /// An answer that no retry mends.
    package var halt: GatewayHalt?
    /// What an answer said about the credential.
    package var credentialFault: ConnectionFault?

    package init() {}

    var answers: Int { accepted + refused + failed }
}
