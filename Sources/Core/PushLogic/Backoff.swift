/// The delay after a number of failures in a row: doubling, bounded, and spread at random.
package struct Backoff: Sendable, Equatable {
    package var first: Duration = .seconds(1)
    package var maxDelay: Duration = .seconds(60)

    package init() {}

    package init(first: Duration, maxDelay: Duration) {
        self.first = first
        self.maxDelay = maxDelay
    }

    /// Returns the delay. `random` in 0..<1 shortens it by up to a half, so that clients that failed together do not
    /// retry together.
    package func delay(afterFailures failures: Int, random: Double) -> Duration {
        guard failures > 0 else { return .zero }
        var delay = first
        for _ in 1..<max(1, min(failures, 62)) where delay < maxDelay { delay = delay * 2 }
        return min(delay, maxDelay) * (1 - random / 2)
    }
}
