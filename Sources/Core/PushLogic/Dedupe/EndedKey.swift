package import PushModel

/// The facts about an ended delivery that are remembered within the dedupe window.
package struct EndedKey: Equatable, Sendable {
    /// The hash of the message's fingerprint and the device.
    package let fingerprint: UInt64
    /// The number of the message.
    package let seq: UInt64
    /// The outcome. Nil if a later version has written one that is unknown here.
    package let outcome: FinalOutcome?
    /// Whether the fingerprint counts as claimed, so that the device does not get this message id again.
    package let isClaimed: Bool
    /// Whether the message was for one device, so that the fingerprint is also the audience of its ``AcceptedKey``.
    /// Early versions did not store this fact.
    package let isOnly: Bool

    package init(fingerprint: UInt64, seq: UInt64, outcome: FinalOutcome?, isClaimed: Bool, isOnly: Bool) {
        self.fingerprint = fingerprint
        self.seq = seq
        self.outcome = outcome
        self.isClaimed = isClaimed
        self.isOnly = isOnly
    }
}
