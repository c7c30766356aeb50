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
    package let service: LoadedService
    package let tls: TLSContext

    /// Reads and checks the app's files. It blocks, so do not call it on an event loop.
    package init(_ app: Configuration.App, contexts: TLSContexts = TLSContexts()) throws {
        self.app = app
        service = try LoadedService(app, contexts: contexts)
        let connector = service.connector
        tls = try contexts.client(at: app.endpoint, alpn: connector.alpn, identity: connector.identity)
    }

    package var hostPort: HostPort { app.endpoint.address }

    /// Warnings about a credential that works but is probably not the intended one.
    package var warnings: [String] { service.connector.warnings }

    /// What is known about the credential.
    package var credential: CredentialSummary { service.connector.facts }

    /// Returns the closure that makes the app's connections. A rotation of the credential replaces this closure.
    ///
    /// - Parameters:
    ///   - permit: The right to send, if it can end.
    ///   - wallClock: The time by which messages expire and tokens are signed.
    package func connect(
        resolver: NameResolver, permit: SendingPermit? = nil, wallClock: @escaping @Sendable () -> WallTime
    ) -> GatewaySettings.Connect {
        service.connector.connect(connectionSettings(resolver: resolver, permit: permit, wallClock: wallClock))
    }

    private func connectionSettings(
        resolver: NameResolver, permit: SendingPermit?, wallClock: @escaping @Sendable () -> WallTime
    ) -> ConnectionSettings {
        ConnectionSettings(
            endpoint: hostPort, tls: tls, resolver: resolver, permit: permit, wallClock: wallClock,
            connectTimeout: app.gateway.connectTimeout, answerTimeout: app.gateway.answerTimeout,
            pingAfter: app.gateway.pingAfter, pingTimeout: app.gateway.pingTimeout)
    }

    /// Returns the source of the tokens that requests carry; nil if they need none.
    package func tokens(from tokens: ServiceTokens) -> TokenSource? { service.tokens(from: tokens) }

    /// The credential in a few words. A file that could not be read has its name.
    package static func credentialLabel(of app: Configuration.App, read gateway: AppGateway?) -> String {
        app.credentialLabel(gateway?.credential)
    }

    /// What is known about the credential, in JSON.
    package func credentialSummary(at now: WallTime) -> JSONValue {
        let facts = credential
        var members: [String: JSONValue] = [
            "kind": .string(facts.kind.rawValue), "fingerprint": .string(facts.fingerprint),
        ]
        for (name, text) in [("key_id", facts.keyID), ("team_id", facts.teamID), ("subject", facts.subject)] {
            members[name] = text.map { .string($0) }
        }
        members["topics"] = facts.topics.map { .array($0.map { .string($0) }) }
        members["expires_at"] = facts.notAfter.map { .integer($0.milliseconds) }
        members["expires_in_ms"] = facts.notAfter.map { .integer($0.milliseconds - now.milliseconds) }
        return .object(members)
    }

    /// The end of the credential; nil if it does not expire.
    package var credentialEnd: WallTime? { credential.notAfter }

    /// - Parameter isProbe: Whether nothing is sent, and the endpoint of the app is looked at.
    package func settings(
        resolver: NameResolver, permit: SendingPermit? = nil, wallClock: @escaping @Sendable () -> WallTime,
        isProbe: Bool = false
    ) -> GatewaySettings {
        let own = connectionSettings(resolver: resolver, permit: permit, wallClock: wallClock)
        let probe = isProbe ? service.connector.probe(own) : nil
        var settings = GatewaySettings(
            app: app.id, endpoint: hostPort, reasons: app.reasons, resolver: resolver,
            connect: probe ?? service.connector.connect(own))
        settings.wallClock = wallClock
        if probe == nil, let lookUp = service.connector.lookUp { settings.lookUp = lookUp }
        settings.permit = permit
        settings.deliveriesPerMinute = app.deliveriesPerMinute
        settings.policy.minimum = app.gateway.connections.lowerBound
        settings.policy.maximum = app.gateway.connections.upperBound
        settings.policy.shrinkAfter = app.gateway.idle
        settings.policy.connects.perMinute = connectsPerMinute
        return settings
    }

    /// The maximum of new connections per minute. It is nil, for no limit, if the endpoint is a loopback address: the
    /// limit only keeps the push service from taking frequent connecting for an attack.
    package var connectsPerMinute: Int? {
        SocketAddress(ip: hostPort.host, port: 0)?.isLoopback == true ? nil : app.gateway.connectsPerMinute
    }
}
