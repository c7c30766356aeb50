/// One entry of the feedback service: a token to which a notification was sent although the app was no longer
/// installed.
package struct FeedbackTuple: Hashable, Sendable {
    /// Seconds since 1970: when the push service determined that the token is dead. A device that registered later is
    /// active.
    package let time: UInt32
    package let token: Address

    package init(time: UInt32, token: Address) {
        self.time = time
        self.token = token
    }
}
