package import PushGateways
import PushLoop
import PushModel
import PushTime
package import PushTransport

extension OriginPool {
    /// What the pools of an app have in common.
    package struct Settings: Sendable {
        private let tls: OriginTLS
        private let endpointTLS: OriginTLS
        private let connection: ConnectionSettings
        let writer: WebPushWriter.Make
        let resolver: NameResolver
        let rules: OriginRules
        /// Finds the addresses of a host. The pools of the app share a look-up that is under way.
        var lookUp: GatewaySettings.LookUp
        /// The keys that the writers sign with; empty if that is not known.
        let keys: [VAPIDKeyID]
        var limits = OriginMachine.Limits()
        let wallClock: @Sendable () -> WallTime

        /// - Parameters:
        ///   - tls: The contexts for all origins.
        ///   - endpointTLS: The contexts for the origin that the settings of the app name as its endpoint, if it is another
        ///     one.
        ///   - resolver: It gets the names that devices have registered, so it should not be the one that other apps wait
        ///     for.
        package init(
            tls: OriginTLS, endpointTLS: OriginTLS? = nil, resolver: NameResolver, rules: OriginRules,
            keys: [VAPIDKeyID] = [], connection: ConnectionSettings, writer: @escaping WebPushWriter.Make
        ) {
            self.tls = tls
            self.endpointTLS = endpointTLS ?? tls
            self.resolver = resolver
            self.rules = rules
            self.keys = keys
            self.connection = connection
            self.writer = writer
            wallClock = connection.wallClock
            lookUp = SharedLookUps(resolver).lookUp
        }

        var permit: SendingPermit? { connection.permit }

        /// Returns the settings of a connection to an origin.
        func http2(to origin: Origin) -> GatewayConnection.Settings {
            var settings = connection.http2 { [writer] _ in writer(origin) }
            settings.tls = contexts(for: origin).http2
            return settings
        }

        /// Returns the settings of requests to an origin without HTTP/2.
        func http1(to origin: Origin) -> OriginCalls.Settings {
            OriginCalls.Settings(
                tls: contexts(for: origin).http1, resolver: resolver, permit: permit, wallClock: wallClock,
                timeout: connection.answerTimeout, writer: writer)
        }

        private func contexts(for origin: Origin) -> OriginTLS { origin == rules.endpoint ? endpointTLS : tls }
    }

    /// The look-up of a gateway whose connections are pools: there is no name to be looked up. The text is what events and
    /// tables show as the address of a pool.
    package static let lookUp: GatewaySettings.LookUp = { _, completion in completion(.success(["origins"])) }
}

/// The contexts of TLS for origins that trust the same authorities.
package struct OriginTLS: Sendable {
    let http2: TLSContext
    /// Without ALPN, so that servers which do not know it are accepted.
    let http1: TLSContext

    /// - Parameter context: Returns the context that offers these protocols.
    package init(_ context: (_ alpn: [String]) throws -> TLSContext) rethrows {
        http2 = try context(["h2"])
        http1 = try context([])
    }
}
