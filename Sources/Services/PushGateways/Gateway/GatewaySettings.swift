package import PushLogic
package import PushLoop
package import PushModel
package import PushTransport

/// The parameters of a new connection.
package struct ConnectionRequest: Sendable {
    package let id: ConnectionID
    package let loop: EventLoop
    /// A numeric IP address and the port.
    package let address: HostPort
    /// The name for which the server's certificate must be issued.
    package let serverName: String
    /// The provider token; nil if a certificate authenticates the connection.
    package let token: ProviderToken?
    package let outlet: ConnectionOutlet

    package init(
        id: ConnectionID, loop: EventLoop, address: HostPort, serverName: String, token: ProviderToken?,
        outlet: ConnectionOutlet
    ) {
        self.id = id
        self.loop = loop
        self.address = address
        self.serverName = serverName
        self.token = token
        self.outlet = outlet
    }
}

/// Why there is no provider token, if a service gives them.
package protocol TokenFailure: Error {
    /// Why the service was not reached; nil if it answered.
    var unreached: ConnectionFault.Code? { get }
}

/// The source of a gateway's provider tokens. None of the closures blocks.
package struct TokenSource: Sendable {
    package typealias Take = @Sendable (Result<ProviderToken, any Error>) -> Void

    /// Calls the closure on the loop with the current token, as soon as there is one, and with each newer one. Returns
    /// a closure that ends the subscription.
    package let subscribe: @Sendable (EventLoop, @escaping Take) -> @Sendable () -> Void
    /// Reports that the provider rejected the token of this generation.
    package let refused: @Sendable (_ generation: UInt64) -> Void
    /// Reports that the provider answered TooManyProviderTokenUpdates.
    package let mintedTooOften: @Sendable () -> Void

    package init(
        subscribe: @escaping @Sendable (EventLoop, @escaping Take) -> @Sendable () -> Void,
        refused: @escaping @Sendable (UInt64) -> Void, mintedTooOften: @escaping @Sendable () -> Void
    ) {
        self.subscribe = subscribe
        self.refused = refused
        self.mintedTooOften = mintedTooOften
    }
}

/// The parameters of a gateway.
package struct GatewaySettings: Sendable {
    package typealias Connect = @Sendable (ConnectionRequest) -> any PushConnection
    /// Finds the numeric addresses of a host. The completion is called once, on any thread.
    package typealias LookUp =
        @Sendable (HostPort, _ completion: @escaping @Sendable (Result<[String], any Error>) -> Void) -> Void

    package let app: AppID
    /// The host and port of the push service. The name is resolved before every connection.
    package internal(set) var endpoint: HostPort
    /// The name for which the server's certificate must be issued; by default the host.
    package var serverName: String
    package var policy = GatewayPolicy()
    package var connect: Connect
    package var lookUp: LookUp
    /// What the answers of the push service mean.
    package var reasons: ReasonTable
    package var wallClock: @Sendable () -> WallTime = { .current() }
    /// The largest number of deliveries that the push service takes in a minute; nil if it has no such limit.
    package var deliveriesPerMinute: Int?
    /// The right to send, if it can end. While it is not valid, deliveries wait.
    package var permit: SendingPermit?
    /// The seed of the random jitter.
    package var seed: UInt64

    package init(
        app: AppID, endpoint: HostPort, reasons: ReasonTable, resolver: NameResolver, connect: @escaping Connect
    ) {
        self.app = app
        self.reasons = reasons
        self.endpoint = endpoint
        self.connect = connect
        serverName = endpoint.host
        seed = .random(in: 0 ... .max)
        lookUp = SharedLookUps(resolver).lookUp
    }
}
