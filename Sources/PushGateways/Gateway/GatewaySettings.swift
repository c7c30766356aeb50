package import PushLogic
package import PushLoop
package import PushModel
package import PushTransport

/// What a connection is made of: its name, where it lives, where it leads, who says so.
package struct ConnectionRequest: Sendable {
    package let id: ConnectionID
    package let loop: EventLoop
    /// An address in figures, and the port.
    package let address: HostPort
    /// What the peer's certificate has to be made out to.
    package let serverName: String
    /// Nil where a certificate says who we are.
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

/// Where a gateway has its provider tokens from. None of the closures blocks.
package struct TokenSource: Sendable {
    package typealias Take = @Sendable (Result<ProviderToken, any Error>) -> Void

    /// Calls on the loop with the token there is, soon, and with each newer one. Returns what ends it.
    package let subscribe: @Sendable (EventLoop, @escaping Take) -> @Sendable () -> Void
    /// The provider would not have this generation.
    package let refused: @Sendable (_ generation: UInt64) -> Void
    /// The provider finds that tokens are minted too often.
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

/// Everything a gateway is told at its beginning.
package struct GatewaySettings: Sendable {
    package typealias Connect = @Sendable (ConnectionRequest) -> any PushConnection
    /// Finds the addresses of a host, in figures. The completion may be called anywhere, once.
    package typealias LookUp =
        @Sendable (HostPort, _ completion: @escaping @Sendable (Result<[String], any Error>) -> Void) -> Void

    package let app: AppID
    /// The push service. A name is looked up before every connection.
    package internal(set) var place: HostPort
    /// What its certificate is made out to, if that is not the host.
    package var serverName: String
    package var policy = GatewayPolicy()
    package var connect: Connect
    package var lookUp: LookUp
    /// What an answer asks for.
    package var classify: @Sendable (_ status: Int, ProviderReason?) -> Disposition = {
        Disposition.of(status: $0, reason: $1)
    }
    package var wallClock: @Sendable () -> WallTime = { .current() }
    /// Of the jitter.
    package var seed: UInt64

    package init(app: AppID, place: HostPort, resolver: NameResolver, connect: @escaping Connect) {
        self.app = app
        self.place = place
        self.connect = connect
        serverName = place.host
        seed = .random(in: 0 ... .max)
        lookUp = SharedLookUps(resolver).lookUp
    }
}

/// Who owns a gateway, and where its reports go: onto the owner's loop, in order, at most one a tick.
package struct GatewayClient: Sendable {
    package let loop: EventLoop
    /// Runs on `loop`, never from within a call into the gateway.
    package let take: @Sendable (GatewayReport) -> Void

    package init(loop: EventLoop, take: @escaping @Sendable (GatewayReport) -> Void) {
        self.loop = loop
        self.take = take
    }

    func send(_ report: GatewayReport) {
        loop.execute { [take] in take(report) }
    }
}
