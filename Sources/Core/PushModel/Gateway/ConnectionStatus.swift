/// The state of one connection, for operators.
package struct ConnectionStatus: Sendable, Equatable {
    package enum State: String, Sendable {
        case connecting, open, draining, closed
    }

    package let id: ConnectionID
    package var state: State
    /// `address:port` of the peer, once it is known.
    package var address: String?
    /// The time since the attempt to connect began.
    package var age: Duration
    package var streamLimit: Int?
    package var inFlight: Int
    /// The number of deliveries that the connection was given and has not written yet.
    package var waiting: Int
    package var answered: UInt64
    package var oldestUnanswered: Duration?
    /// The round-trip time of the last answered PING.
    package var lastPing: Duration?
    /// The reason in the peer's GOAWAY, if there was one.
    package var goAwayReason: String?
    /// Of the push services that it leads to, if it leads to several, those that nothing is sent to for now.
    package var failing: [FailingOrigin] = []

    package init(id: ConnectionID, state: State, age: Duration) {
        self.id = id
        self.state = state
        self.age = age
        inFlight = 0
        waiting = 0
        answered = 0
    }
}
