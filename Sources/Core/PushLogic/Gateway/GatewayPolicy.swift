/// The limits and intervals that control a gateway.
package struct GatewayPolicy: Sendable, Equatable {
    /// The number of connections that are always open. With 0 the first delivery opens one.
    package var minimum = 1
    package var maximum = 4

    /// A connection is added after the use of the streams has reached `busyShare` for this long.
    package var growAfter: Duration = .seconds(2)
    package var busyShare = 0.8
    /// A connection is removed after the use of the others would have been below `quietShare` for this long. The time
    /// is long because push services ask clients to keep connections for hours, and may take frequent connecting for
    /// an attack (`Documentation/Protocols.md`, "TLS and connections").
    package var shrinkAfter: Duration = .seconds(1800)
    package var quietShare = 0.25

    /// The delay between attempts to connect that fail in a row. The longest delay is what a push may have to wait
    /// after an outage. Attempts cost little, and `connects` limits them.
    package var reconnect = Backoff(first: .seconds(1), maxDelay: .seconds(15))
    /// The age at which a connection with an answered PING proves that connecting works, even if nothing was sent on
    /// it.
    package var provenAfter: Duration = .seconds(30)
    /// The quarantine of an address that went silent or failed.
    package var quarantine = Backoff(first: .seconds(30), maxDelay: .seconds(1800))
    package var connects = ConnectBudget.Policy()
    package var breaker = CircuitBreaker.Policy()

    /// The time that a draining connection may wait for answers before it is closed.
    package var drainWithin: Duration = .seconds(90)
    /// The time to wait for a new provider token after one was refused.
    package var tokenWithin: Duration = .seconds(60)

    /// The minimum number of deliveries that a connection gets beyond its streams, so that it can refill them at once.
    /// The number is this or a quarter of its streams, whichever is larger, and at most the number of its streams.
    package var minPrefetch = 16
    /// The credit of the owner while there is no connection.
    package var reserve = 64
    /// The maximum number of deliveries that wait in the gateway. Further ones are returned.
    package var queueLimit = 20_000
    /// The number of times that a delivery returns to the front of the queue before it is returned for a later retry.
    package var requeueLimit = 16
    /// The number of answers in a row that ask for another connection, to deliveries that were sent before, after which
    /// the connection is replaced.
    package var turnedAwayLimit = 3
    /// The delay after an answer that asks for a retry without a time, by attempt.
    package var retry = Backoff(first: .seconds(2), maxDelay: .seconds(900))
    /// The longest `Retry-After` that is obeyed.
    package var maxRetryAfter: Duration = .seconds(3600)

    package init() {}

    func prefetch(forLimit limit: Int) -> Int {
        min(limit, max(minPrefetch, limit / 4))
    }
}

/// The allowed number of connections. Invalid values are adjusted: the minimum is not negative, and the maximum is at
/// least 1 and not below the minimum.
struct ConnectionRange: Equatable {
    let minimum: Int
    let maximum: Int

    init(minimum: Int, maximum: Int) {
        self.minimum = max(0, minimum)
        self.maximum = max(1, self.minimum, maximum)
    }

    func clamp(_ count: Int) -> Int { min(max(count, minimum), maximum) }
}
