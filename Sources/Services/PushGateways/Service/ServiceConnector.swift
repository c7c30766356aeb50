package import PushLoop
package import PushModel
package import PushTime
package import PushTransport

/// The credential of one app, read and checked, and the connections that its push service makes with it.
package protocol ServiceConnector: Sendable {
    /// What is known about the credential.
    var facts: CredentialSummary { get }
    /// Sentences for the log about settings that work but are probably mistakes.
    var warnings: [String] { get }
    /// The certificate of the TLS handshake; nil if requests carry a token instead.
    var identity: TLSIdentity? { get }
    /// The protocols that connections offer in the TLS handshake.
    var alpn: [String] { get }

    /// Returns the closure that makes the app's connections.
    func connect(_ settings: ConnectionSettings) -> GatewaySettings.Connect

    /// Returns the closure that makes a connection to the endpoint of the app for a look at it; nil if other connections
    /// lead there, too.
    func probe(_ settings: ConnectionSettings) -> GatewaySettings.Connect?

    /// How a gateway finds the addresses of the push service; nil for the addresses of its host. A service whose
    /// connections lead to many hosts answers by itself.
    var lookUp: GatewaySettings.LookUp? { get }

    /// Returns the request that sends a notification to a device.
    ///
    /// - Parameters:
    ///   - endpoint: The host and port of the app.
    ///   - size: The size of the address in words, which stands for it.
    func preview(
        of message: Message, deliveryID: DeliveryID, to endpoint: String, tokenSize size: String
    ) -> RequestPreview
}

extension ServiceConnector {
    package var lookUp: GatewaySettings.LookUp? { nil }

    package func probe(_ settings: ConnectionSettings) -> GatewaySettings.Connect? { nil }
}

/// What the connections of every push service need, besides what belongs to the service.
package struct ConnectionSettings: Sendable {
    package let endpoint: HostPort
    package let tls: TLSContext
    package let resolver: NameResolver
    /// The right to send, if it can end.
    package var permit: SendingPermit?
    /// The time by which messages expire. In a cluster, it is not that of the machine.
    package var wallClock: @Sendable () -> WallTime
    package var connectTimeout: Duration
    package var answerTimeout: Duration
    package var pingAfter: Duration
    package var pingTimeout: Duration

    package init(
        endpoint: HostPort, tls: TLSContext, resolver: NameResolver, permit: SendingPermit?,
        wallClock: @escaping @Sendable () -> WallTime, connectTimeout: Duration, answerTimeout: Duration,
        pingAfter: Duration, pingTimeout: Duration
    ) {
        self.endpoint = endpoint
        self.tls = tls
        self.resolver = resolver
        self.permit = permit
        self.wallClock = wallClock
        self.connectTimeout = connectTimeout
        self.answerTimeout = answerTimeout
        self.pingAfter = pingAfter
        self.pingTimeout = pingTimeout
    }

    /// The value of `:authority`: the host name, with the port if it is not 443.
    package var authority: String { endpoint.port == 443 ? endpoint.host : endpoint.description }

    /// Returns the settings of sessions over HTTP/2 whose requests are made by such writers.
    package func http2(
        writer: @escaping @Sendable (ProviderToken?) -> any RequestWriter
    ) -> GatewayConnection.Settings {
        var settings = GatewayConnection.Settings(tls: tls, resolver: resolver, wallClock: wallClock, writer: writer)
        settings.machine.answerTimeout = answerTimeout
        settings.http2.connectTimeout = connectTimeout
        settings.http2.pingAfter = pingAfter
        settings.http2.pingTimeout = pingTimeout
        settings.http2.permit = permit
        return settings
    }
}
