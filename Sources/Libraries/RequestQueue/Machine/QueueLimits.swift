/// The bounds of a queue.
public struct QueueLimits: Sendable, Equatable {
    /// What happens to a request that finds the wait list full.
    public enum Overflow: Sendable, Equatable {
        /// The new request fails.
        case rejectNew
        /// A request of the lowest priority that waits, also for its next attempt, fails if its priority is lower than
        /// that of the new one; else the new one fails.
        case dropLowest
    }

    /// The number of transfers at the same time.
    public var maxRunning: Int
    /// The number of transfers at the same time with one origin: scheme, host and port.
    public var maxRunningPerHost: Int
    /// The number of requests that wait for a place or for their next attempt.
    public var maxWaiting: Int
    /// What happens when as many are waiting.
    public var overflow: Overflow

    /// Creates bounds. Values below 1 count as 1.
    public init(
        maxRunning: Int = 32, maxRunningPerHost: Int = 6, maxWaiting: Int = 10_000, overflow: Overflow = .rejectNew
    ) {
        self.maxRunning = max(1, maxRunning)
        self.maxRunningPerHost = max(1, maxRunningPerHost)
        self.maxWaiting = max(1, maxWaiting)
        self.overflow = overflow
    }
}
