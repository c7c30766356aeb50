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
    let bundle: BundleID
    let timeout: Duration

    init(_ app: Configuration.App, timeout: Duration) throws(Failure) {
        guard app.apns.wireProtocol == .http2 else {
            throw Failure(.configuration, "app \(app.id) uses the binary protocol, which has no broadcasts")
        }
        bundle = app.apns.topic
        self.timeout = timeout
        gateway = try AppGateway.load(app)
    }

    func endpoint(of service: ChannelService) -> HostPort {
        switch service {
        case .management: gateway.app.apns.broadcast.manage
        case .sending: gateway.app.apns.broadcast.send
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
            if case .providerKey(let key) = gateway.credential { token = try await dependencies.token(of: key) }
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
