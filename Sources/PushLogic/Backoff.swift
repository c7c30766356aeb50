/// How long to wait after so many failures in a row: doubling, bounded, spread.
///
/// With the defaults and a random number of 0.5: 0.75 s, 1.5 s, 3 s, 6 s, 12 s, 24 s, 45 s, 45 s, …
package struct Backoff: Sendable, Equatable {
    package var first: Duration = .seconds(1)
    package var longest: Duration = .seconds(60)

    package init() {}

    package init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// `random` in 0..<1 takes up to half of the wait away, so that many who failed together do not return together.
    package func delay(afterFailures failures: Int, random: Double) -> Duration {
        guard failures > 0 else { return .zero }
        var delay = first
        for _ in 1..<max(1, min(failures, 62)) where delay < longest { delay = delay * 2 }
        return min(delay, longest) * (1 - random / 2)
    }
}
