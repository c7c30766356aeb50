package import PushLoop
package import PushModel

/// One session to a push service, over whichever protocol: what a gateway needs of it.
///
/// Every method may be called from anywhere, returns at once, and takes effect in the order of the calls. What comes of
/// it arrives at the connection's outlet, in order. The connection keeps itself alive until it has closed.
package protocol PushConnection: AnyObject, Sendable {
    var id: ConnectionID { get }

    /// Sends them as soon as the peer's limit allows, in this order. Every one ends, exactly once, in a report.
    func deliver(_ deliveries: [Delivery])

    /// From now on requests carry this token. Of no effect where a certificate says who we are.
    func use(_ token: ProviderToken)

    /// Takes no more: what has not been sent comes back as not processed, what is in flight is waited for, then it
    /// closes.
    func drain()

    /// Ends now: what is in flight becomes unknown.
    func close()

    /// Asks the peer for a sign of life.
    func ping()

    func status() async -> ConnectionStatus
}

/// What a connection hands its owner: the deliveries it is done with, and what happened to it after them.
///
/// What is given to a connection while its `closed` is on the way comes back after it, as not processed.
package struct ConnectionReport: Sendable {
    package let connection: ConnectionID
    package var ended: [EndedDelivery]
    package var event: ConnectionEvent?

    package init(_ connection: ConnectionID, ended: [EndedDelivery] = [], event: ConnectionEvent? = nil) {
        self.connection = connection
        self.ended = ended
        self.event = event
    }
}

/// Where the reports of connections go: onto the loop of their owner, in order, in batches.
package struct ConnectionOutlet: Sendable {
    private let loop: EventLoop
    private let take: @Sendable (ConnectionReport) -> Void

    /// `take` runs on `loop`, never from within a call into the connection.
    package init(on loop: EventLoop, _ take: @escaping @Sendable (ConnectionReport) -> Void) {
        self.loop = loop
        self.take = take
    }

    package func send(_ report: ConnectionReport) {
        loop.execute { [take] in take(report) }
    }
}
