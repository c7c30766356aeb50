/// One entry of the feedback service: a token to which a notification was sent although the app was no longer
/// installed.
package struct FeedbackTuple: Hashable, Sendable {
    /// Seconds since 1970: when the push service determined that the token is dead. A device that registered later is
    /// active.
    package let time: UInt32
    package let token: DeviceToken

    package init(time: UInt32, token: DeviceToken) {
        self.time = time
        self.token = token
    }
}

/// The receiver of feedback tuples. It stores them before anything acts on them.
package protocol FeedbackSink: Sendable {
    /// Returns when the tuples are on disk. If this function throws, it is called again later with the same tuples.
    ///
    /// - Important: After a crash the same tuples may arrive again. To take a tuple twice must have no further effect.
    func take(_ tuples: [FeedbackTuple], of app: AppID) async throws
}
