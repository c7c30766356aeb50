/// One app's gateway as operators see it.
package struct GatewayStatus: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case running
        /// Nothing is sent for this much longer. Without a connection: until an attempt to connect succeeds, and this is
        /// the time to the next.
        case paused(for: Duration, BreakerCause)
        /// One delivery is on its way, or awaited, to see whether the service has recovered.
        case probing
        /// Nothing is sent until the credential is changed.
        case halted(GatewayHalt)
        /// Takes no more, sends what it has.
        case draining
        case closed
    }

    package let app: AppID
    package var state: State
    /// Deliveries that wait here.
    package var queue: Int
    /// Deliveries that were given to connections and have not come back.
    package var outstanding: Int
    /// How many more it asks for.
    package var credit: Int
    package var minimum: Int
    package var maximum: Int
    /// How many connections it wants at the moment.
    package var wanted: Int
    package var failedConnectsInARow: Int
    /// Why there is no connection; nil where one is open or where the last one ended as it should.
    package var fault: ConnectionFault?
    /// A connection was open before, whether or not one is now.
    package var hasBeenUp = false
    package var counts: GatewayCounts
    package var connections: [ConnectionStatus]

    package init(
        app: AppID, state: State, queue: Int, outstanding: Int, credit: Int, minimum: Int, maximum: Int, wanted: Int,
        failedConnectsInARow: Int, counts: GatewayCounts, connections: [ConnectionStatus]
    ) {
        self.app = app
        self.state = state
        self.queue = queue
        self.outstanding = outstanding
        self.credit = credit
        self.minimum = minimum
        self.maximum = maximum
        self.wanted = wanted
        self.failedConnectsInARow = failedConnectsInARow
        self.counts = counts
        self.connections = connections
    }
}

/// What a gateway has done since it began.
package struct GatewayCounts: Sendable, Equatable {
    package var taken: UInt64 = 0
    package var accepted: UInt64 = 0
    package var rejected: UInt64 = 0
    package var retried: UInt64 = 0
    package var unknown: UInt64 = 0
    package var expired: UInt64 = 0
    package var returned: UInt64 = 0
    /// Put back into the queue: what was not processed, or goes out again at once.
    package var requeued: UInt64 = 0
    package var connects: UInt64 = 0

    package init() {}
}
