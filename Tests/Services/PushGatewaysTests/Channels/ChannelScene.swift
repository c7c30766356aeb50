import APNs
import PushGateways
import PushLoop
import PushModel
import PushSimulator
import PushTransport
import PushWire
import TestSupport
import Testing

/// The simulated Apple and a channel client, each on its own loop.
struct ChannelScene: Sendable {
    static let app = BundleID("com.example.shop")!
    static let update = Array(#"{"aps":{"event":"update","timestamp":1,"content-state":{}}}"#.utf8)

    let simulator: SimulatorScene
    let client: ChannelClient
    let token = ChannelScene.token()

    var clientLoop: EventLoop { simulator.clientLoop }

    func create(_ policy: ChannelPolicy = .newestStored) async throws -> ChannelID {
        try await client.create(policy, of: Self.app, token: token)
    }

    func until(_ condition: @escaping @Sendable (SimulatorService) -> Bool) async {
        await simulator.until(condition)
    }

    func untilRequests(_ count: UInt64) async {
        await until { $0.machine.log.total >= count }
    }

    func untilCalls(_ count: Int) async {
        await wait(while: await client.callCount < count)
    }

    /// Returns the error of a call; nil if it succeeded.
    static func error(_ call: () async throws -> Void) async -> ChannelError? {
        do {
            try await call()
            return nil
        } catch {
            return error as? ChannelError
        }
    }

    /// Returns a well-formed token. The simulator has no keys here, so it accepts any token.
    static func token(age: Int64 = 0) -> ProviderToken {
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8))
        let claims = Base64URL.encode(
            Array(#"{"iss":"DEF123GHIJ","iat":\#(WallTime.current().seconds - age)}"#.utf8))
        let signature = Base64URL.encode([UInt8](repeating: 7, count: 64))
        return ProviderToken(
            text: Secret("\(header).\(claims).\(signature)"), generation: 1,
            mintedAt: MonotonicTime(nanoseconds: 0))
    }
}

func withChannels(
    script: String = "{}", clock: LoopClock = .monotonic, clientClock: LoopClock = .monotonic,
    _ change: (inout ChannelClient.Options) -> Void = { _ in }, _ body: (ChannelScene) async throws -> Void
) async throws {
    try await SimulatorScene.run(script: script, clock: clock, clientClock: clientClock) { options in
        options.binaryPort = nil
        options.feedbackPort = nil
        options.controlPort = nil
    } _: { simulator in
        let port = await simulator.with { $0.providerAddress!.port }
        var options = ChannelClient.Options(HostPort(host: "127.0.0.1", port: port))
        // The timeout is long, so that a busy machine does not look like a silent provider.
        options.answerTimeout = .seconds(3600)
        change(&options)
        let client = ChannelClient(
            on: simulator.clientLoop, options: options, tls: try TestCertificates.shared.clientContext(alpn: ["h2"]),
            resolver: simulator.resolver)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(ChannelScene(simulator: simulator, client: client)))
        } catch {
            outcome = .failure(error)
        }
        await client.close()
        #expect(await client.callCount == 0)
        try outcome.get()
    }
}
