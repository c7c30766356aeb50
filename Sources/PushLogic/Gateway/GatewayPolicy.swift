/// The numbers that a gateway decides by.
package struct GatewayPolicy: Sendable, Equatable {
    /// Connections that are held at all times. With 0 the first delivery opens one.
    package var minimum = 1
    package var maximum = 4

    /// One more connection after the streams have been used up to `busyShare` for this long.
    package var growAfter: Duration = .seconds(2)
    package var busyShare = 0.8
    /// One fewer after the others would have been used below `quietShare` for this long. Apple asks to keep
    /// connections for hours and takes frequent connecting for an attack (PROTOCOLS A2), so this is long.
    package var shrinkAfter: Duration = .seconds(1800)
    package var quietShare = 0.25

    /// Between attempts to connect that fail in a row. The longest is what a push may have to wait after an outage;
    /// attempts cost little, and `connects` bounds them.
    package var reconnect = Backoff(first: .seconds(1), longest: .seconds(15))
    /// One that the peer answered a PING on and that lived this long shows that connecting works, even if there was
    /// nothing to send on it.
    package var provenAfter: Duration = .seconds(30)
    /// How long an address that went silent or failed is passed over.
    package var quarantine = Backoff(first: .seconds(30), longest: .seconds(1800))
    package var connects = ConnectBudget.Policy()
    package var breaker = CircuitBreaker.Policy()

    /// How long a connection that takes no more may wait for its answers before it is closed.
    package var drainWithin: Duration = .seconds(90)
    /// How long a new provider token is waited for after one was refused.
    package var tokenWithin: Duration = .seconds(60)

    /// Given to a connection beyond its streams, so that it refills itself without asking: the larger of this and a
    /// quarter of its streams, and never more than its streams.
    package var smallestPrefetch = 16
    /// Asked of the owner while there is no connection yet.
    package var reserve = 64
    /// Deliveries that may wait in the gateway. What is submitted beyond goes back.
    package var queueLimit = 20_000
    /// How often one delivery goes back to the front of the queue before its owner is told to wait.
    package var requeueLimit = 16
    /// For answers that mean "not now" and name no time, by attempt.
    package var retry = Backoff(first: .seconds(2), longest: .seconds(900))
    /// The longest that a `Retry-After` is believed.
    package var longestRetryAfter: Duration = .seconds(3600)

    package init() {}

    func prefetch(forLimit limit: Int) -> Int {
        min(limit, max(smallestPrefetch, limit / 4))
    }
}

/// How many connections a gateway is to hold. Both are made sense of: at least one, and the maximum not below the
/// minimum.
struct ConnectionRange: Equatable {
    let minimum: Int
    let maximum: Int

    init(minimum: Int, maximum: Int) {
        self.minimum = max(0, minimum)
        self.maximum = max(1, self.minimum, maximum)
    }

    func clamp(_ count: Int) -> Int { min(max(count, minimum), maximum) }
}
