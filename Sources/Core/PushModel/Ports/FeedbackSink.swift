/// The receiver of feedback tuples. It stores them before anything acts on them.
package protocol FeedbackSink: Sendable {
    /// Returns when the tuples are on disk. If this function throws, it is called again later with the same tuples.
    ///
    /// - Important: After a crash the same tuples may arrive again. To take a tuple twice must have no further effect.
    func take(_ tuples: [FeedbackTuple], of app: AppID) async throws
}
