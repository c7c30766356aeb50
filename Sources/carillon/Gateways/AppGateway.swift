import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushTransport
import PushWire

/// From an app of the configuration to what its gateway is made of: the credential, read and checked, and with it TLS,
/// tokens, and connections.
struct AppGateway: Sendable {
    let app: Configuration.App
    let credential: Credential
    /// What works but is probably not what was meant.
    let warnings: [String]
    let tls: TLSContext

    /// Reads the app's files. Blocks: not to be called on a loop.
    init(_ app: Configuration.App, contexts: TLSContexts = TLSContexts()) throws {
        self.app = app
        let loaded = try app.credential.files.load()
        credential = loaded.credential
        warnings = loaded.warnings
        try credential.check(topic: app.topic, environment: app.environment)
        let alpn = app.gateway.wireProtocol == .http2 ? ["h2"] : []
        if case .certificate(let certificate) = credential {
            var configuration = TLSClientConfiguration(trust: app.endpoint.trust.forTLS)
            configuration.identity = certificate.identity
            configuration.alpn = alpn
            tls = try .client(configuration)
        } else {
            tls = try contexts.client(app.endpoint.trust, alpn: alpn)
        }
    }

    var place: HostPort { HostPort(host: app.endpoint.host, port: app.endpoint.port) }

    /// What makes its connections. A rotation makes another one of the same app.
    func connect(resolver: NameResolver) -> GatewaySettings.Connect {
        switch app.gateway.wireProtocol {
        case .http2:
            let settings = http2Settings(resolver)
            return { GatewayConnection($0, settings: settings) }
        case .binary:
            var settings = LegacyConnection.Settings(tls: tls, serverName: app.endpoint.host, resolver: resolver)
            settings.connectTimeout = app.gateway.connectTimeout
            settings.stallAfter = app.gateway.answerTimeout
            return { [settings] in
                LegacyConnection(id: $0.id, on: $0.loop, to: $0.address, settings: settings, outlet: $0.outlet)
            }
        }
    }

    private func http2Settings(_ resolver: NameResolver) -> GatewayConnection.Settings {
        let authority = place.port == 443 ? place.host : place.description
        var settings = GatewayConnection.Settings(
            topic: app.topic, authority: authority, tls: tls, resolver: resolver)
        settings.machine.answerTimeout = app.gateway.answerTimeout
        settings.http2.connectTimeout = app.gateway.connectTimeout
        settings.http2.pingAfter = app.gateway.pingAfter
        settings.http2.pingTimeout = app.gateway.pingTimeout
        return settings
    }

    /// Nil where a certificate says who we are.
    func tokens(from tokens: ProviderTokens) -> TokenSource? {
        guard case .providerKey(let key) = credential else { return nil }
        return TokenSource(
            subscribe: { loop, take in
                let subscription = tokens.subscribe(key, on: loop) { take($0.mapError { $0 }) }
                return { tokens.cancel(subscription) }
            },
            refused: { tokens.refused(key, generation: $0) }, mintedTooOften: { tokens.mintedTooOften(key) })
    }

    func settings(resolver: NameResolver) -> GatewaySettings {
        var settings = GatewaySettings(
            app: app.id, place: place, resolver: resolver, connect: connect(resolver: resolver))
        settings.policy.minimum = app.gateway.connections.lowerBound
        settings.policy.maximum = app.gateway.connections.upperBound
        settings.policy.shrinkAfter = app.gateway.idle
        settings.policy.connects.perMinute = connectsPerMinute
        return settings
    }

    /// Nil: without limit. What Apple takes for an attack is nobody's business on this machine.
    var connectsPerMinute: Int? {
        SocketAddress(ip: place.host, port: 0)?.isLoopback == true ? nil : app.gateway.connectsPerMinute
    }

    func open(
        on loop: EventLoop, connectionLoops: [EventLoop], tokens: ProviderTokens, resolver: NameResolver,
        client: GatewayClient
    ) -> Gateway {
        Gateway(
            on: loop, connectionLoops: connectionLoops, settings: settings(resolver: resolver), client: client,
            tokens: self.tokens(from: tokens))
    }
}

extension Configuration.Credential {
    var files: CredentialFiles {
        switch self {
        case .token(let key, let keyID, let teamID): .key(path: key, keyID: keyID, teamID: teamID)
        case .bundle(let certificate, let passwordFile):
            .certificate(certificate, key: nil, passwordFile: passwordFile)
        case .certificate(let certificate, let key, let passwordFile):
            .certificate(certificate, key: key, passwordFile: passwordFile)
        }
    }
}

extension Configuration.Endpoint.Trust {
    var forTLS: TLSTrust {
        switch self {
        case .system: .system
        case .file(let path): .only([.file(path)])
        }
    }
}
