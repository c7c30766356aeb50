import APNs
import PushConfiguration
import PushGateways
import PushLoop
import PushModel
import PushText
import PushTransport
import PushWire

/// Access to the broadcast channels of one app.
struct AppChannels: Sendable {
    let gateway: AppGateway
    private let apns: APNsSettings
    private let loaded: LoadedAPNs
    let timeout: Duration

    init(_ app: Configuration.App, timeout: Duration) throws(Failure) {
        guard let apns = app.apns else { throw Self.hasNoBroadcasts(app) }
        guard apns.wireProtocol == .http2 else {
            throw Failure(.configuration, "app \(app.id) uses the binary protocol, which has no broadcasts")
        }
        self.apns = apns
        self.timeout = timeout
        gateway = try AppGateway.load(app)
        guard case .apns(let loaded) = gateway.service else { throw Self.hasNoBroadcasts(app) }
        self.loaded = loaded
    }

    var bundle: BundleID { apns.topic }

    /// Returns the request that sends a broadcast.
    func preview(of message: Message, to channel: ChannelID) -> RequestPreview {
        loaded.preview(ofBroadcast: message, to: channel)
    }

    private static func hasNoBroadcasts(_ app: Configuration.App) -> Failure {
        Failure(.configuration, "app \(app.id) is not one of Apple's push service, which alone has broadcasts")
    }

    func endpoint(of service: ChannelService) -> HostPort {
        switch service {
        case .management: apns.broadcast.manage
        case .sending: apns.broadcast.send
        }
    }

    /// Runs one request over its own connection. Errors are returned as a verdict.
    func call<Answer: Sendable>(
        _ service: ChannelService,
        work: @Sendable (ChannelClient, BundleID, ProviderToken?) async throws -> Answer
    ) async -> Result<Answer, VerdictError> {
        let dependencies = TrialDependencies()
        let endpoint = endpoint(of: service)
        var options = ChannelClient.Options(endpoint)
        options.answerTimeout = timeout
        // The timeout of the request is shorter, so that it is the one that is reported.
        options.connection.connectTimeout = timeout + .seconds(5)
        let client = ChannelClient(
            on: dependencies.loop, options: options, tls: gateway.tls, resolver: dependencies.resolver)
        let result: Result<Answer, VerdictError>
        do {
            var token: ProviderToken?
            if case .providerKey(let key) = loaded.credential { token = try await dependencies.token(of: key) }
            result = .success(try await work(client, bundle, token))
        } catch let error as ChannelError {
            result = .failure(VerdictError(Verdict(error, of: gateway.app, at: endpoint.description)))
        } catch {
            result = .failure(VerdictError(Verdict(.configuration, "\(error)")))
        }
        await client.close()
        await dependencies.end()
        return result
    }
}

struct VerdictError: Error {
    let verdict: Verdict

    init(_ verdict: Verdict) {
        self.verdict = verdict
    }
}
