/// The facts about an accepted message that are remembered for as long as its id is.
package struct AcceptedKey: Equatable, Sendable {
    /// The hash of the app and the message id.
    package let fingerprint: UInt64
    /// A hash of payload and options. Its lowest bit is 0, because some engines store ``isSingle`` there.
    package let content: UInt64
    /// A hash of the audience. For a single device it is the fingerprint of the delivery.
    package let audience: UInt64
    /// Whether the message was the first with its id and names one device. The delivery of such a message, whose
    /// fingerprint is ``audience``, is not claimed until a second message with this id arrives.
    package let isSingle: Bool

    package init(fingerprint: UInt64, content: UInt64, audience: UInt64, isSingle: Bool) {
        self.fingerprint = fingerprint
        self.content = content & ~1
        self.audience = audience
        self.isSingle = isSingle
    }
}
