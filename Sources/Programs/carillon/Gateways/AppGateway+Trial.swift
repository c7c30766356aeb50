import PushConfiguration
import PushGateways
import PushLoop
import PushModel

extension AppGateway {
    /// Creates the gateway of an app. Faults of its credential or trust become configuration failures.
    static func load(_ app: Configuration.App) throws(Failure) -> AppGateway {
        do {
            return try AppGateway(app)
        } catch {
            throw Failure(.configuration, "\(error)")
        }
    }

    /// Reads an app's files for a trial with one connection and enough time for a second attempt.
    static func loadForTrial(_ app: Configuration.App, timeout: Duration) throws(Failure) -> AppGateway {
        var app = app
        app.gateway.connections = 1...1
        app.gateway.connectTimeout = min(app.gateway.connectTimeout, timeout / 2)
        return try load(app)
    }

    /// - Parameter delivery: The notification; without one, a connection is opened only.
    func trial(_ delivery: Delivery?, timeout: Duration, on dependencies: TrialDependencies) -> Trial {
        Trial(
            settings(resolver: dependencies.resolver, wallClock: WallTime.current, isProbe: delivery == nil),
            tokens: tokens(from: dependencies.tokens), delivery: delivery, timeout: timeout,
            connectTimeout: app.gateway.connectTimeout)
    }
}

extension Configuration.App {
    var address: String { endpoint.address.description }
}
