/// One connection as operators see it.
package struct ConnectionStatus: Sendable, Equatable {
    package enum State: String, Sendable {
        case connecting, open, draining, closed
    }

    package let id: ConnectionID
    package var state: State
    /// `address:port` of the peer, once it is known.
    package var address: String?
    /// Since it was begun.
    package var age: Duration
    package var streamLimit: Int?
    package var inFlight: Int
    /// Given to it, not yet on the wire.
    package var waiting: Int
    package var answered: UInt64
    package var oldestUnanswered: Duration?
    /// Round trip of the last PING that was answered.
    package var lastPing: Duration?
    /// Why the peer said GOAWAY, if it did.
    package var goAwayReason: String?

    package init(id: ConnectionID, state: State, age: Duration) {
        self.id = id
        self.state = state
        self.age = age
        inFlight = 0
        waiting = 0
        answered = 0
    }
}
