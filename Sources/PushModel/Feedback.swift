/// What the feedback service says of one device: it was sent to, and the app was not there.
package struct FeedbackTuple: Hashable, Sendable {
    /// Seconds since 1970 at which the push service was sure of it. A device registered after that is alive.
    package let time: UInt32
    package let token: DeviceToken

    package init(time: UInt32, token: DeviceToken) {
        self.time = time
        self.token = token
    }
}

/// Takes what the feedback service said, before anything acts on it.
package protocol FeedbackSink: Sendable {
    /// Returns when the tuples are on disk. What throws is called again later with the same tuples.
    ///
    /// - Important: After a crash tuples may come that came before: to take one twice must do nothing more.
    func take(_ tuples: [FeedbackTuple], of app: AppID) async throws
}
