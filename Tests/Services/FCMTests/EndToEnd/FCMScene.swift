import FCM
import Foundation
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
    private let opened: Locked<FCMParts?> = Locked(nil)
    private let gate: Locked<Gateway?> = Locked(nil)
    let tokens: AccessTokens
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

    var ledger: SQLiteLedger { opened.withLock { $0!.ledger } }
    var registry: SQLiteRegistry { opened.withLock { $0!.registry } }
    var gateway: Gateway { gate.withLock { $0! } }

    func open() async throws {
        let parts = try await FCMParts.open(in: folder, front: front, back: back)
        opened.withLock { $0 = parts }
    }

    /// Writes the file of a service account with one of two keys, of which the service knows the first.
    func credential(key number: Int = 0, project: String = "shop-1") async throws -> LoadedFCM {
        let file = "\(folder)/firebase-\(UUID().uuidString).json"
        let members: [String: JSONValue] = [
            "type": "service_account", "project_id": .string(project), "private_key_id": .string("key-\(number)"),
            "private_key": .string(Self.keys[number].pem), "client_email": "push@shop-1.iam.gserviceaccount.com",
            "token_uri": .string(await service.with { $0.audience }),
        ]
        try Data(JSONValue.object(members).bytes).write(to: URL(fileURLWithPath: file))
        return try LoadedFCM(FCMSettings(serviceAccount: file)) { _ in try TestCertificates.shared.clientContext() }
    }

    func settings(_ loaded: LoadedFCM) async throws -> GatewaySettings {
        let endpoint = HostPort(host: "127.0.0.1", port: await service.with { $0.port })
        let resolver = NameResolver(pool: pool)
        let connections = ConnectionSettings(
            endpoint: endpoint, tls: try TestCertificates.shared.clientContext(alpn: loaded.alpn), resolver: resolver,
            permit: nil, connectTimeout: .seconds(600), answerTimeout: .seconds(600), pingAfter: .seconds(600),
            pingTimeout: .seconds(600))
        var settings = GatewaySettings(
            app: Self.app, endpoint: endpoint, reasons: .fcm, resolver: resolver, connect: loaded.connect(connections))
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
        let router = opened.withLock { $0!.router }
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
    func push(_ envelope: String) async -> DirectAnswer {
        let intake = opened.withLock { $0!.intake }
        return await withCheckedContinuation { continuation in
            intake.loop.execute {
                intake.assumeIsolated { intake in
                    intake.push(Array(envelope.utf8), from: DirectSender(name: nil, apps: nil)) {
                        continuation.resume(returning: $0)
                    }
                }
            }
        }
    }

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
    func events() async throws -> [FCMEvent] {
        await ledger.flush()
        var (events, last) = ([FCMEvent](), UInt64(0))
        while true {
            let page = try await ledger.read(since: last, limit: 10_000)
            guard let end = page.segments.last?.last, end > last else { return events }
            for segment in page.segments {
                try segment.entries(since: last) { entry in
                    events.append(FCMEvent(entry))
                    return true
                }
            }
            last = end
        }
    }

    func device(_ address: String) throws -> DeviceID {
        ledger.identities.device(of: Self.app, token: try FCMCodec().address(address))
    }
}

/// What the tests look at in an event.
struct FCMEvent: Sendable {
    let kind: EventKind
    let message: String?
    let device: DeviceID?
    let reason: String?
    let status: UInt64?
    let isResent: Bool?

    init(_ entry: borrowing LogEntry) {
        kind = entry.event.kind
        message = entry.messageID
        device = entry.event.device
        reason = entry.reason
        status = entry.event.status
        isResent = entry.details?.flag("resend")
    }
}

/// The parts between producers and a gateway, put together as a server does.
struct FCMParts: Sendable {
    let ledger: SQLiteLedger
    let registry: SQLiteRegistry
    let follower: RegistryFollower
    let feedback: Feedback
    let router: Router
    let intake: Intake
    let context: ZMQContext

    private struct Witness: LedgerWitness {
        let router: Router
        let follower: RegistryFollower

        func accepted(_ messages: [AcceptedMessage]) { router.accepted(messages) }
        func cancelled(_ orders: [CancelOrder]) { router.cancelled(orders) }
        func committed(_ segments: [LogSegment]) { follower.committed(segments) }
        func healthChanged(_ fault: LedgerFault?) { router.healthChanged(fault) }
    }

    static func open(in folder: String, front: EventLoop, back: EventLoop) async throws -> FCMParts {
        let log = Logger("fcm", to: LogOutput(level: .error))
        let (ledger, backlog) = try await SQLiteLedger.open(SQLiteLedger.Settings(directory: folder))
        let registry = try await SQLiteRegistry.open(
            directory: folder, identities: ledger.identities, note: { await ledger.note($0) })
        let feedback = Feedback(
            on: back, registry: registry, ledger: ledger, identities: ledger.identities, log: log)
        var routing = Router.Settings()
        routing.answered = { feedback.take($0) }
        routing.policy.lostAnswerBackoff = Backoff(first: .milliseconds(10), maxDelay: .milliseconds(50))
        let router = await back.run { [routing] in
            Router(on: back, ledger: ledger, registry: registry, identities: ledger.identities, settings: routing)
        }
        var settings = IntakeSettings(apps: AppTable([AppFacts(id: FCMScene.app, codec: FCMCodec())]))
        // All tests share the process, so its growth is not limited.
        settings.door.growth = .max
        let context = try ZMQContext()
        let intake = Intake(on: front, context: context, ledger: ledger, settings: settings)
        let follower = RegistryFollower(registry, log: ledger) { _ in }
        try await registry.catchUp(from: ledger)
        await ledger.start(Witness(router: router, follower: follower))
        router.backlog(backlog)
        _ = try await intake.open()
        return FCMParts(
            ledger: ledger, registry: registry, follower: follower, feedback: feedback, router: router, intake: intake,
            context: context)
    }

    /// Ends the parts in the order in which a server ends them. The gateway has ended.
    func close() async {
        await router.drain()
        await feedback.stop()
        await ledger.flush()
        await follower.stop()
        await registry.close()
        await ledger.close()
        await context.terminate()
    }
}
