package import PushModel

/// What one batch of ended deliveries says about the connection and the service, without the deliveries.
package struct AnswerTally: Sendable, Equatable {
    /// All of them.
    package var ended = 0
    package var accepted = 0
    /// Answered, and not with 200, 429 or 5xx.
    package var refused = 0
    /// Answered with 429 or 5xx.
    package var failed = 0
    package var unknown = 0
    package var notProcessed = 0

    /// The longest `Retry-After` that came with 5xx.
    package var pause: Duration?
    /// An answer asked for another connection.
    package var asksForAnother = false
    /// The newest provider token that was refused: too old, or not believed.
    package var refusedToken: UInt64?
    /// An answer that no retry mends.
    package var halt: GatewayHalt?

    package init() {}

    var answers: Int { accepted + refused + failed }
}
