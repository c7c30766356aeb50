package import PushModel

/// What a batch of ended deliveries shows about the connection and the push service.
package struct AnswerTally: Sendable, Equatable {
    /// The number of all ended deliveries.
    package var ended = 0
    package var accepted = 0
    /// The number of answers other than 200 that show a working service: about a device, a topic or a credential.
    package var refused = 0
    /// The number of answers that report a failure of the service itself.
    package var failed = 0
    package var failedDevices = FewDevices()
    package var unknown = 0
    package var notProcessed = 0

    /// The longest `Retry-After` in an answer that reports a failure of the service itself.
    package var pause: Duration?
    /// Whether an answer asked for another connection.
    package var asksForAnother = false
    /// The number of such answers to deliveries that were sent before, which may be about the delivery. They count as
    /// other answers, too.
    package var turnedAway = 0
    /// The newest provider token that was refused as expired or invalid.
    package var refusedToken: UInt64?
    /// The reason to halt, from an answer that no retry can change.
    package var halt: GatewayHalt?
    /// The fault of the credential that an answer reported.
    package var credentialFault: ConnectionFault?

    package init() {}

    var answers: Int { accepted + refused + failed }
}
