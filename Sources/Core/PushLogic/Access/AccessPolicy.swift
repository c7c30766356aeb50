/// The limits of ``AccessMachine``.
package struct AccessPolicy: Sendable, Equatable {
    /// The maximum difference between the clock of a client and this one: `http.signature_window`.
    package var window: Duration = .seconds(300)
    /// The maximum number of remembered nonces of all keys; each takes about 30 bytes.
    package var maxNonces = 1_000_000
    /// The failures that an address may make before it is refused unheard, and the time after which it may make one
    /// more.
    package var addressFailures = RateLimit(burst: 20, every: .seconds(3))
    /// The failures for a key that are answered one by one; further ones are answered 429. Valid requests are never
    /// refused for it.
    package var keyFailures = RateLimit(burst: 100, every: .seconds(1))
    /// The number of addresses whose failures are remembered, rounded up to a multiple of ``FailureTable/ways``.
    package var maxAddresses = 8192

    package init() {}
}

/// A number of events that may come at once, and the time after which one more may come.
package struct RateLimit: Sendable, Equatable {
    package let burst: Int64
    package let every: Duration

    /// Creates a limit. Both values are raised to their smallest useful value: one event, and one microsecond.
    package init(burst: Int, every: Duration) {
        self.burst = Int64(min(max(1, burst), 1_000_000))
        self.every = min(max(every, .microseconds(1)), .seconds(3600))
    }

    /// Creates a limit of this many events in a second.
    package init(perSecond rate: Int) {
        let rate = min(max(1, rate), 1_000_000)
        self.init(burst: rate, every: .nanoseconds(1_000_000_000 / Int64(rate)))
    }
}
