package import APNs
package import PushGateways
import PushLogic
package import PushLoop
import PushModel
package import PushTransport
package import PushWire

/// The parts of an app's gateway, made from its configuration: the checked credential, the TLS context, the token
/// source and the connections.
package struct AppGateway: Sendable {
    package let app: Configuration.App
    package let credential: Credential
    /// Warnings about a credential that works but is probably not the intended one.
    package let warnings: [String]
    package let tls: TLSContext

    /// Reads and checks the app's files. It blocks, so do not call it on an event loop.
    package init(_ app: Configuration.App, contexts: TLSContexts = TLSContexts()) throws {
        self.app = app
        let loaded = try app.apns.credential.load()
        credential = loaded.credential
        warnings = loaded.warnings
        try credential.check(topic: app.apns.topic.text, environment: app.apns.environment)
        let alpn = app.apns.wireProtocol == .http2 ? ["h2"] : []
        if case .certificate(let certificate) = credential {
            var configuration = TLSClientConfiguration(trust: app.endpoint.trust.forTLS)
            configuration.identity = certificate.identity
            configuration.alpn = alpn
            tls = try .client(configuration)
        } else {
            tls = try contexts.client(app.endpoint.trust, alpn: alpn)
        }
    }

    package var hostPort: HostPort { app.endpoint.address }

    /// Returns the closure that makes the app's connections. A rotation of the credential replaces this closure.
    ///
    /// - Parameter permit: The right to send, if it can end.
    package func connect(resolver: NameResolver, permit: SendingPermit? = nil) -> GatewaySettings.Connect {
        switch app.apns.wireProtocol {
        case .http2:
            let settings = http2Settings(resolver, permit)
            return { GatewayConnection($0, settings: settings) }
        case .binary:
            var settings = LegacyConnection.Settings(tls: tls, serverName: app.endpoint.host, resolver: resolver)
            settings.connectTimeout = app.gateway.connectTimeout
            settings.stallAfter = app.gateway.answerTimeout
            settings.permit = permit
            return { [settings] in
                LegacyConnection(id: $0.id, on: $0.loop, to: $0.address, settings: settings, outlet: $0.outlet)
            }
        }
    }

    private func http2Settings(_ resolver: NameResolver, _ permit: SendingPermit?) -> GatewayConnection.Settings {
        let authority = hostPort.port == 443 ? hostPort.host : hostPort.description
        var settings = GatewayConnection.Settings(tls: tls, resolver: resolver) { [topic = app.apns.topic.text] token in
            APNsWriter(authority: authority, topic: topic, token: token)
        }
        settings.machine.answerTimeout = app.gateway.answerTimeout
        settings.http2.connectTimeout = app.gateway.connectTimeout
        settings.http2.pingAfter = app.gateway.pingAfter
        settings.http2.pingTimeout = app.gateway.pingTimeout
        settings.http2.permit = permit
        return settings
    }

    /// Returns the source of provider tokens, or nil if the credential is a certificate.
    package func tokens(from tokens: ProviderTokens) -> TokenSource? {
        guard case .providerKey(let key) = credential else { return nil }
        return TokenSource(
            subscribe: { loop, take in
                let subscription = tokens.subscribe(key, on: loop) { take($0.mapError { $0 }) }
                return { tokens.cancel(subscription) }
            },
            refused: { tokens.refused(key, generation: $0) }, mintedTooOften: { tokens.mintedTooOften(key) })
    }

    /// The credential in a few words. A file that could not be read has its name.
    package static func credentialLabel(of app: Configuration.App, read gateway: AppGateway?) -> String {
        app.apns.credential.label(gateway?.credential.facts)
    }

    /// What is known about the credential, in JSON.
    package func credentialSummary(at now: WallTime) -> JSONValue { credential.facts.summary(at: now) }

    /// The end of the credential; nil if it does not expire.
    package var credentialEnd: WallTime? { credential.facts.notAfter }

    package func settings(resolver: NameResolver, permit: SendingPermit? = nil) -> GatewaySettings {
        var settings = GatewaySettings(
            app: app.id, endpoint: hostPort, reasons: app.reasons, resolver: resolver,
            connect: connect(resolver: resolver, permit: permit))
        settings.permit = permit
        settings.policy.minimum = app.gateway.connections.lowerBound
        settings.policy.maximum = app.gateway.connections.upperBound
        settings.policy.shrinkAfter = app.gateway.idle
        settings.policy.connects.perMinute = connectsPerMinute
        return settings
    }

    /// The maximum of new connections per minute. It is nil, for no limit, if the endpoint is a loopback address: the
    /// limit only protects against Apple's denial-of-service detection.
    package var connectsPerMinute: Int? {
        SocketAddress(ip: hostPort.host, port: 0)?.isLoopback == true ? nil : app.gateway.connectsPerMinute
    }

    package func open(
        on loop: EventLoop, connectionLoops: [EventLoop], tokens: ProviderTokens, resolver: NameResolver,
        client: GatewayClient
    ) -> Gateway {
        Gateway(
            on: loop, connectionLoops: connectionLoops, settings: settings(resolver: resolver), client: client,
            tokens: self.tokens(from: tokens))
    }
}

extension Configuration.Endpoint.Trust {
    package var forTLS: TLSTrust {
        switch self {
        case .system: .system
        case .file(let path): .only([.file(path)])
        }
    }
}
