package import PushModel

/// One session to a push service, over any protocol.
///
/// Every method may be called on any thread, returns at once, and takes effect in the order of the calls. Results
/// arrive at the connection's outlet, in order. The connection keeps itself alive until it has closed.
package protocol PushConnection: AnyObject, Sendable {
    /// Sends the deliveries in this order, as soon as the peer's limit allows. Each of them ends in exactly one report.
    /// A delivery that expires, or whose message is cancelled, before it is sent is reported as not processed.
    func deliver(_ deliveries: [Delivery])

    /// Reports the unsent deliveries of cancelled messages as not processed, and then ``ConnectionEvent/recalled(_:)``.
    func recall(_ number: UInt64)

    /// Reports all unsent deliveries as not processed. The connection takes further ones.
    func giveBack()

    /// Uses this token for later requests. It has no effect if a certificate authenticates the connection.
    func use(_ token: ProviderToken)

    /// Takes no more deliveries. Unsent ones are reported as not processed; the connection closes when those in flight
    /// have ended.
    func drain()

    /// Closes the connection at once. Deliveries in flight are reported as unknown.
    func close()

    /// Checks whether the peer still responds.
    func ping()

    func status() async -> ConnectionStatus
}

/// A report of a connection to its owner: deliveries that have ended, and then an event.
///
/// Deliveries that are passed to a connection while its `closed` event is on the way are reported after it, as not
/// processed.
package struct ConnectionReport: Sendable {
    package let connection: ConnectionID
    package var ended: [AttemptReport]
    package var event: ConnectionEvent?

    package init(_ connection: ConnectionID, ended: [AttemptReport] = [], event: ConnectionEvent? = nil) {
        self.connection = connection
        self.ended = ended
        self.event = event
    }
}
