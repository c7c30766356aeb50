package import PushLoop
package import PushModel
package import PushTransport

/// What a gateway asks for when it wants one more connection.
package struct ConnectionRequest: Sendable {
    package let id: ConnectionID
    package let loop: EventLoop
    /// An address that was looked up, and the port.
    package let address: HostPort
    /// Whom the peer's certificate must be for.
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
