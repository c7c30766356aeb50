import PushGateways
import PushLoop
import PushModel
import PushSimulator
import PushTransport
import PushWire
import TestSupport
import Testing

/// A simulated provider and a client of its channels, each on a loop of its own.
struct ChannelScene: Sendable {
    static let app = BundleID("com.example.shop")!
    static let update = Array(#"{"aps":{"event":"update","timestamp":1,"content-state":{}}}"#.utf8)

    let appleLoop: EventLoop
    let clientLoop: EventLoop
    let client: ChannelClient
    let token: ProviderToken
    fileprivate let service: LoopBound<SimulatorService>

    func create(_ policy: ChannelPolicy = .newestStored) async throws -> ChannelID {
        try await client.create(policy, of: Self.app, token: token)
    }

    func apple<Result: Sendable>(_ work: @escaping @Sendable (SimulatorService) -> Result) async -> Result {
        await service.with(work)
    }

    /// Waits, without sleeping, for what the simulator is about to notice.
    func until(_ condition: @escaping @Sendable (SimulatorService) -> Bool) async {
        while await !apple(condition) { await Task.yield() }
    }

    func untilRequests(_ count: UInt64) async {
        await until { $0.machine.log.total >= count }
    }

    func untilCalls(_ count: Int) async {
        while await client.callCount < count { await Task.yield() }
    }

    /// What a call failed with; nil if it did not.
    static func error(_ call: () async throws -> Void) async -> ChannelError? {
        do {
            try await call()
            return nil
        } catch {
            return error as? ChannelError
        }
    }

    /// A well-formed token; the simulator knows no keys and so takes any.
    static func token(age: Int64 = 0) -> ProviderToken {
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8))
        let claims = Base64URL.encode(
            Array(#"{"iss":"DEF123GHIJ","iat":\#(WallTime.current().seconds - age)}"#.utf8))
        let signature = Base64URL.encode([UInt8](repeating: 7, count: 64))
        return ProviderToken(
            text: Secret("\(header).\(claims).\(signature)"), keyID: "ABC123DEFG", teamID: "DEF123GHIJ", generation: 1,
            mintedAt: MonotonicTime(nanoseconds: 0))
    }
}

func withChannels(
    script: String = "{}", clock: LoopClock = .monotonic, clientClock: LoopClock = .monotonic,
    _ change: (inout ChannelClient.Options) -> Void = { _ in }, _ body: (ChannelScene) async throws -> Void
) async throws {
    let appleLoop = EventLoop(name: "apple", clock: clock)
    let clientLoop = EventLoop(name: "channels", clock: clientClock)
    let pool = BlockingPool(name: "resolve", threadCount: 1, queueLimit: 4)
    let certificates = TestCertificates.shared
    let (service, address) = try await appleLoop.run {
        var options = SimulatorService.Options(
            identity: certificates.serverIdentity, clientTrust: certificates.trust)
        options.binaryPort = nil
        options.feedbackPort = nil
        options.controlPort = nil
        let service = try SimulatorService(on: appleLoop, options, script: try FaultScript(Array(script.utf8)))
        return (LoopBound(service, on: appleLoop), service.providerAddress!)
    }
    var options = ChannelClient.Options(HostPort(host: "127.0.0.1", port: address.port))
    change(&options)
    let scene = ChannelScene(
        appleLoop: appleLoop, clientLoop: clientLoop,
        client: ChannelClient(
            on: clientLoop, options, tls: try certificates.clientContext(alpn: ["h2"]),
            resolver: NameResolver(pool: pool)),
        token: ChannelScene.token(), service: service)
    let outcome: Result<Void, any Error>
    do {
        outcome = .success(try await body(scene))
    } catch {
        outcome = .failure(error)
    }
    await scene.client.close()
    let callCount = await scene.client.callCount
    #expect(callCount == 0)
    await withCheckedContinuation { continuation in
        appleLoop.execute { service.wrapped.stop { continuation.resume() } }
    }
    await clientLoop.shutDown()
    await appleLoop.shutDown()
    await pool.shutDown()
    try outcome.get()
}
