/// How much the pipeline holds before it asks its neighbours to wait. Each has a reason, none is a setting; those of one
/// app are in `AppLimits`.
package struct PipelineLimits: Sendable, Equatable {
    /// Messages that were handed in and have not been answered; one more is `busy`.
    package var unanswered = 50_000
    /// Bytes of such messages.
    package var unansweredBytes = 64 << 20
    /// Messages of all apps that were accepted and are not done. Over this an app is `busy` that holds its share of them
    /// or more, which is this divided by the number of apps; over twice this, which others reach only together, each is.
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
