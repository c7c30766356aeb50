import FCM
import Foundation
import PipelineTestSupport
import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushPipeline
import PushSimulator
import PushStore
import PushTransport
import PushWire
import TestSupport

/// The simulated FCM, and the parts that send to it as a server has them: intake, ledger, registry, router and gateway,
/// with access tokens from the simulated token endpoint, all over real sockets with TLS.
final class FCMScene: Sendable {
    static let app = AppID("shop")!
    static let fid = "cHk3b2Pq-1x_ZZaabbccdd"
    private static let keys = try! [RS256PrivateKey.generate(), RS256PrivateKey.generate()]

    let service: LoopBound<FCMService>
    private let folder: String
    private let front = EventLoop(name: "front")
    private let back = EventLoop(name: "back")
    private let far: EventLoop
    private let pool = BlockingPool(name: "blocking", threadCount: 2, queueLimit: 64)
    private let opened: Locked<PipelineParts?> = Locked(nil)
    private let gate: Locked<Gateway?> = Locked(nil)
    let tokens: AccessTokens
    /// The clock of gateways that are opened from then on.
    let wallClock: Locked<@Sendable () -> WallTime> = Locked(WallTime.current)
    /// Changes the settings of gateways that are opened from then on.
    let tuning: Locked<@Sendable (inout GatewaySettings) -> Void> = Locked({ _ in })

    private init(in folder: String) async throws {
        self.folder = folder
        let far = EventLoop(name: "fcm")
        self.far = far
        let account = FCMAccount(
            project: "shop-1", email: "push@shop-1.iam.gserviceaccount.com", keyID: "key-0",
            key: Self.keys[0].publicKey)
        service = try await far.run {
            LoopBound(
                try FCMService(
                    on: far,
                    options: FCMService.Options(identity: TestCertificates.shared.serverIdentity, account: account)),
                on: far)
        }
        tokens = AccessTokens(on: back, resolver: NameResolver(pool: pool))
    }

    /// Runs a test with stores in a folder of its own.
    static func run(_ body: (FCMScene) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "fcm-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let scene = try await FCMScene(in: folder.path())
        let outcome: Result<Void, any Error>
        do {
            try await scene.open()
            outcome = .success(try await body(scene))
        } catch {
            outcome = .failure(error)
        }
        await scene.close()
        await scene.stopService()
        for loop in [scene.front, scene.back, scene.far] { await loop.shutDown() }
        await scene.pool.shutDown()
        try outcome.get()
    }

    private func stopService() async {
        await withCheckedContinuation { continuation in
            far.execute { [service] in service.wrapped.stop { continuation.resume() } }
        }
    }

    // MARK: Parts

    private var parts: PipelineParts { opened.withLock { $0! } }
    var ledger: SQLiteLedger { parts.ledger }
    var registry: SQLiteRegistry { parts.registry }
    var gateway: Gateway { gate.withLock { $0! } }

    func open() async throws {
        let parts = try await PipelineParts.open(
            in: folder, front: front, back: back, app: AppFacts(id: Self.app, codec: FCMCodec())
        ) { $0.policy.lostAnswerBackoff = Backoff(first: .milliseconds(10), maxDelay: .milliseconds(50)) }
        opened.withLock { $0 = parts }
    }

    /// Writes the file of a service account with one of two keys, of which the service knows the first.
    func credential(
        key number: Int = 0, project: String = "shop-1", tokens: String? = nil
    ) async throws -> LoadedFCM {
        let audience = await service.with { $0.audience }
        let file = "\(folder)/firebase-\(UUID().uuidString).json"
        let members: [String: JSONValue] = [
            "type": "service_account", "project_id": .string(project), "private_key_id": .string("key-\(number)"),
            "private_key": .string(Self.keys[number].pem), "client_email": "push@shop-1.iam.gserviceaccount.com",
            "token_uri": .string(tokens ?? audience),
        ]
        try Data(JSONValue.object(members).bytes).write(to: URL(fileURLWithPath: file))
        return try LoadedFCM(FCMSettings(serviceAccount: file)) { _ in try TestCertificates.shared.clientContext() }
    }

    func settings(_ loaded: LoadedFCM) async throws -> GatewaySettings {
        let endpoint = HostPort(host: "127.0.0.1", port: await service.with { $0.port })
        let resolver = NameResolver(pool: pool)
        let connections = ConnectionSettings(
            endpoint: endpoint, tls: try TestCertificates.shared.clientContext(alpn: loaded.alpn), resolver: resolver,
            permit: nil, wallClock: wallClock.withLock { $0 }, connectTimeout: .seconds(600),
            answerTimeout: .seconds(600), pingAfter: .seconds(600), pingTimeout: .seconds(600))
        var settings = GatewaySettings(
            app: Self.app, endpoint: endpoint, reasons: .fcm, resolver: resolver, connect: loaded.connect(connections))
        settings.wallClock = connections.wallClock
        settings.policy.maximum = 2
        settings.policy.connects = .unlimited
        settings.policy.retry = Backoff(first: .milliseconds(10), maxDelay: .milliseconds(50))
        settings.policy.reconnect = Backoff(first: .milliseconds(10), maxDelay: .milliseconds(50))
        settings.policy.tokenWithin = .seconds(600)
        tuning.withLock { $0 }(&settings)
        return settings
    }

    /// Makes the gateway of the app.
    func openGateway(_ loaded: LoadedFCM) async throws {
        let router = parts.router
        let gateway = Gateway(
            on: back, connectionLoops: [back], settings: try await settings(loaded),
            client: GatewayClient(on: back) { router.report($0) }, tokens: loaded.tokens(from: tokens))
        gate.withLock { $0 = gateway }
        router.appChanged(Self.app, gate: gateway)
    }

    /// Ends all parts. What waits stays on disk.
    func close() async {
        guard let parts = opened.withLock({ $0.take() }) else { return }
        await parts.intake.stop(within: .zero)
        parts.router.stop()
        if let gateway = gate.withLock({ $0.take() }) {
            gateway.setPaused(true)
            await gateway.drain(within: .milliseconds(100))
        }
        await parts.close()
    }

    // MARK: Producers

    /// Hands an envelope to intake by its direct door.
    func push(_ envelope: String) async -> DirectAnswer { await parts.push(envelope) }

    /// Waits until no message waits.
    func waitUntilDone() async {
        await wait(while: await waiting() > 0)
    }

    private func waiting() async -> Int {
        await ledger.flush()
        return ledger.backlog(of: Self.app).waiting
    }

    // MARK: Events

    /// Returns all events of the log.
    func events() async throws -> [ShownEvent] { try await parts.events() }

    func device(_ address: String) throws -> DeviceID {
        ledger.identities.device(of: Self.app, token: try FCMCodec().address(address))
    }
}
