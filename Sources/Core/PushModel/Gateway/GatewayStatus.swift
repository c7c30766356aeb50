/// The state of one app's gateway, for operators.
package struct GatewayStatus: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case running
        /// Sending is paused for this much longer. Without a connection it is paused until an attempt to connect
        /// succeeds, and this is the time to the next attempt.
        case paused(for: Duration, BreakerCause)
        /// One delivery is in flight, or awaited, to probe whether the service has recovered.
        case probing
        /// Sending stopped until the push service accepts the credential again, or until it changes.
        case halted(GatewayHalt)
        /// The gateway accepts no more deliveries and sends those that it has.
        case draining
        case closed
    }

    package var state: State
    /// The number of deliveries in the queue of the gateway.
    package var queue: Int
    /// The number of deliveries that connections were given and have not returned.
    package var outstanding: Int
    /// The number of further deliveries that the gateway asks for.
    package var credit: Int
    package var minimum: Int
    package var maximum: Int
    /// The number of connections that the gateway wants at the moment.
    package var wanted: Int
    package var failedConnectsInARow: Int
    /// Why there is no connection; nil if one is open or the last one ended normally.
    package var fault: ConnectionFault?
    /// The time until the next attempt with a credential that was refused; zero if the next delivery is the attempt, or
    /// one is made now. Nil if the credential was not refused, or nothing can be tried.
    package var nextTrial: Duration?
    /// Whether a connection has ever been open.
    package var hasBeenUp = false
    package var counts: GatewayCounts
    package var connections: [ConnectionStatus]

    /// The push services that nothing is sent to for now, of several, each once.
    package var failing: [FailingOrigin] {
        var found: [FailingOrigin] = []
        for origin in connections.lazy.flatMap(\.failing) where !found.contains(where: { $0.name == origin.name }) {
            found.append(origin)
        }
        return found
    }

    package var isHalted: Bool { if case .halted = state { true } else { false } }

    package init(
        state: State, queue: Int, outstanding: Int, credit: Int, minimum: Int, maximum: Int, wanted: Int,
        failedConnectsInARow: Int, counts: GatewayCounts, connections: [ConnectionStatus]
    ) {
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

/// What a gateway has done since it started.
package struct GatewayCounts: Sendable, Equatable {
    package var taken: UInt64 = 0
    package var accepted: UInt64 = 0
    package var rejected: UInt64 = 0
    package var retried: UInt64 = 0
    package var unknown: UInt64 = 0
    package var expired: UInt64 = 0
    package var returned: UInt64 = 0
    /// Deliveries that returned to the queue because they were not processed or are sent again at once.
    package var requeued: UInt64 = 0
    package var connects: UInt64 = 0

    package init() {}
}
