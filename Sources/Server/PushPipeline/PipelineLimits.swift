/// The bounds of the pipeline before it makes its callers wait. These are constants, not settings; the limits of one
/// app are in ``AppLimits``.
package struct PipelineLimits: Sendable, Equatable {
    /// The number of requests that were handed in and have not been answered; the next one is answered `busy`.
    package var unanswered = 50_000
    /// The size of those requests in bytes.
    package var unansweredBytes = 64 << 20
    /// The number of messages of all apps that were accepted and are not done. Above this, an app that holds its share
    /// or more is answered `busy`; the share is this number divided by the number of apps. Above twice this number
    /// every app is answered `busy`.
    package var backlog = 4_000_000
    /// The number of complete messages of all apps that the router keeps in memory; the others wait on disk.
    package var loadedMessages = 20_000
    /// The bytes of payloads and audiences of those messages.
    package var loadedBytes = 48 << 20
    /// The number of deliveries of one app that are with its gateway or wait for a retry.
    package var underWay = 50_000
    /// The delay that a `busy` ack asks for when intake is full.
    package var retryAfter: Duration = .milliseconds(250)

    package init() {}
}
