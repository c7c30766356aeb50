package import PushGateways
import PushLoop
import PushModel
import PushTime
package import PushTransport

extension OriginPool {
    /// What the pools of an app have in common.
    package struct Settings: Sendable {
        private let tls: TLSContext
        private let endpointTLS: TLSContext
        private let connection: ConnectionSettings
        private let writer: @Sendable (Origin) -> any RequestWriter
        let resolver: NameResolver
        let rules: OriginRules
        /// Finds the addresses of a host. The pools of the app share a look-up that is under way.
        var lookUp: GatewaySettings.LookUp
        var limits = OriginMachine.Limits()
        var wallClock: @Sendable () -> WallTime = { .current() }

        /// - Parameters:
        ///   - tls: The context for all origins.
        ///   - endpointTLS: The context for the origin that the settings of the app name as its endpoint, if it is another
        ///     one.
        ///   - resolver: It gets the names that devices have registered, so it should not be the one that other apps wait
        ///     for.
        package init(
            tls: TLSContext, endpointTLS: TLSContext? = nil, resolver: NameResolver, rules: OriginRules,
            connection: ConnectionSettings, writer: @escaping @Sendable (Origin) -> any RequestWriter
        ) {
            self.tls = tls
            self.endpointTLS = endpointTLS ?? tls
            self.resolver = resolver
            self.rules = rules
            self.connection = connection
            self.writer = writer
            lookUp = SharedLookUps(resolver).lookUp
        }

        var permit: SendingPermit? { connection.permit }

        /// Returns the settings of a connection to an origin.
        func http2(to origin: Origin) -> GatewayConnection.Settings {
            var settings = connection.http2 { [writer] _ in writer(origin) }
            settings.tls = origin == rules.endpoint ? endpointTLS : tls
            return settings
        }
    }

    /// The look-up of a gateway whose connections are pools: there is no name to be looked up. The text is what events and
    /// tables show as the address of a pool.
    package static let lookUp: GatewaySettings.LookUp = { _, completion in completion(.success(["origins"])) }
}
