/// How much the pipeline holds before it asks its neighbours to wait. Each has a reason, none is a setting yet.
package struct PipelineLimits: Sendable, Equatable {
    /// Messages that were handed in and have not been answered; one more is `busy`.
    package var unanswered = 50_000
    /// Bytes of such messages.
    package var unansweredBytes = 64 << 20
    /// Messages that were accepted and are not done: over this intake answers `busy`.
    package var backlog = 4_000_000
    /// Messages that the router holds whole, of all apps; the others wait on disk.
    package var loadedMessages = 20_000
    /// Bytes of payloads and audiences of those.
    package var loadedBytes = 48 << 20
    /// Deliveries of one app that are with its gateway or wait for another attempt.
    package var underWay = 50_000
    /// What is told to come again, when intake is full.
    package var retryAfter: Duration = .milliseconds(250)

    package init() {}
}
