import Foundation
import PipelineTestSupport
import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushPipeline
import PushStore
import PushTransport
import PushWire
import TestSupport

/// The server of the stub, and the parts that send to it. Time passes for the router and the gateway only in
/// ``pass(until:)``, so no request is given up that the server is about to answer.
final class StubScene: Sendable {
    static let app = AppID("stub")!

    let server: LoopBound<StubServer>
    private let folder: String
    private let codec: StubCodec
    private let front = EventLoop(name: "front")
    private let back = EventLoop(name: "back", clock: .manual())
    private let far: EventLoop
    private let pool = BlockingPool(name: "blocking", threadCount: 2, queueLimit: 64)
    private let opened: Locked<PipelineParts?> = Locked(nil)
    private let gate: Locked<Gateway?> = Locked(nil)
    /// The number of requests without an answer before the gateway began.
    private let silencesBefore: Locked<UInt64> = Locked(0)

    private init(in folder: String, codec: StubCodec) async throws {
        self.folder = folder
        self.codec = codec
        let far = EventLoop(name: "stub")
        self.far = far
        server = try await far.run { LoopBound(try StubServer(on: far), on: far) }
    }

    /// Runs a test with stores in a folder of its own.
    static func run(codec: StubCodec = StubCodec(), _ body: (StubScene) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "stub-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let scene = try await StubScene(in: folder.path(), codec: codec)
        let outcome: Result<Void, any Error>
        do {
            try await scene.open()
            outcome = .success(try await body(scene))
        } catch {
            outcome = .failure(error)
        }
        await scene.close()
        await scene.server.with { $0.stop() }
        for loop in [scene.front, scene.back, scene.far] { await loop.shutDown() }
        await scene.pool.shutDown()
        try outcome.get()
    }

    // MARK: Parts

    var parts: PipelineParts { opened.withLock { $0! } }
    var ledger: SQLiteLedger { parts.ledger }
    var gateway: Gateway? { gate.withLock { $0 } }

    func open() async throws {
        let parts = try await PipelineParts.open(
            in: folder, front: front, back: back, app: AppFacts(id: Self.app, codec: codec))
        opened.withLock { $0 = parts }
    }

    /// Makes the gateway of the app, with this key.
    func openGateway(key: String = "first") async throws {
        let (parts, connect) = (parts, try await connect(with: key))
        let (port, silences) = await server.with { ($0.port, $0.silences) }
        var settings = GatewaySettings(
            app: Self.app, endpoint: HostPort(host: "127.0.0.1", port: port), reasons: .stub,
            resolver: NameResolver(pool: pool), connect: connect)
        settings.serverName = "localhost"
        settings.policy.maximum = 2
        settings.policy.connects = .unlimited
        let gateway = Gateway(
            on: back, connectionLoops: [back], settings: settings,
            client: GatewayClient(on: back) { parts.router.report($0) }, tokens: nil)
        silencesBefore.withLock { $0 = silences }
        gate.withLock { $0 = gateway }
        parts.router.appChanged(Self.app, gate: gateway)
    }

    /// Asks the server as `check` and `doctor` do, and returns their verdict.
    func verdict(with key: String, by probe: Probe) async throws -> Verdict {
        let port = await server.with { $0.port }
        let endpoint = HostPort(host: "127.0.0.1", port: port)
        var settings = GatewaySettings(
            app: Self.app, endpoint: endpoint, reasons: .stub, resolver: NameResolver(pool: pool),
            connect: try await connect(with: key))
        settings.serverName = "localhost"
        settings.policy.maximum = 1
        settings.policy.connects = .unlimited
        let loop = EventLoop(name: "trial")
        let trial = Trial(
            settings, tokens: nil, delivery: probe.delivery, timeout: .seconds(600), connectTimeout: .seconds(300),
            stay: .zero)
        let report = await trial.run(on: loop)
        await loop.shutDown()
        let peer = TrialPeer(
            address: "\(endpoint)", isOfOwner: false, trust: "stub.pem", description: .stub, reasons: .stub)
        return Verdict(report.outcome, of: peer, by: probe)
    }

    /// Returns a message to a name, as a verb sends it.
    static func delivery(of app: AppID, to name: String) -> Delivery? {
        guard let id = MessageID("trial"), let token = Address(bytes: Array(name.utf8)) else { return nil }
        let message = Message(id: id, app: app, expiry: .unlimited, payload: Array(#"{"text":"Hello"}"#.utf8))
        return Delivery(
            ticket: 1, message: message, token: token, deliveryID: .derived(app: app, message: id, token: token))
    }

    func connect(with key: String) async throws -> GatewaySettings.Connect {
        let authority = "localhost:\(await server.with { $0.port })"
        var settings = GatewayConnection.Settings(
            tls: try TestCertificates.shared.clientContext(alpn: ["h2"]), resolver: NameResolver(pool: pool),
            wallClock: WallTime.current, writer: { _ in StubWriter(authority: authority, key: key) })
        // Time passes in steps, within which a slow machine cannot answer.
        settings.http2.connectTimeout = .seconds(1_000_000)
        settings.http2.pingTimeout = .seconds(1_000_000)
        return { [settings] in GatewayConnection($0, settings: settings) }
    }

    /// Ends all parts. What waits stays on disk.
    func close() async {
        guard let parts = opened.withLock({ $0.take() }) else { return }
        await parts.intake.stop(within: .zero)
        parts.router.stop()
        if let gateway = gate.withLock({ $0.take() }) {
            gateway.setPaused(true)
            await wait(while: await !isSilent(gateway))
            let hasEnded = Locked(false)
            let end = Task {
                await gateway.drain(within: .seconds(1))
                hasEnded.withLock { $0 = true }
            }
            await wait(for: { await back.advance(by: .seconds(1)) }, until: { hasEnded.withLock { $0 } })
            await end.value
        }
        await parts.close()
    }

    // MARK: Time

    /// Lets time pass until the condition holds.
    func pass(until isMet: () async throws -> Bool) async rethrows {
        try await wait(while: try await !isMetAfterStep(isMet))
    }

    private func isMetAfterStep(_ isMet: () async throws -> Bool) async rethrows -> Bool {
        if try await isMet() { return true }
        await passASecond()
        return try await isMet()
    }

    /// Lets a second pass, unless a request is under way that the server will answer.
    func passASecond() async {
        if let gateway, await !isSilent(gateway) { return }
        await back.advance(by: .seconds(1))
    }

    /// Whether the server has received all requests that are under way, and answers none of them.
    private func isSilent(_ gateway: Gateway) async -> Bool {
        let status = await gateway.status()
        let silences = await server.with { $0.silences } - silencesBefore.withLock { $0 }
        return UInt64(status.outstanding) + status.counts.unknown == silences
    }

    /// Lets time pass until no message waits.
    func passUntilDone() async {
        await pass {
            await ledger.flush()
            return ledger.backlog(of: Self.app).waiting == 0
        }
    }

    // MARK: Producers

    /// Hands an envelope to intake by its direct door.
    func push(_ envelope: String) async -> DirectAnswer { await parts.push(envelope) }

    /// Hands an envelope to intake over ZeroMQ, and returns the frames of the ack.
    func pushOverZeroMQ(_ envelope: String) async throws -> [String] {
        let acks = EventRecorder<[String]>()
        let (context, endpoint) = (parts.context, parts.endpoints.router ?? "")
        let socket = try await front.run { [front] in
            var options = ZMQSocketOptions()
            options.linger = .zero
            let socket = try ZMQSocket(.dealer, in: context, on: front, options: options)
            socket.onMessage = { message in
                acks.record((0..<message.count).map { String(decoding: message.copied($0), as: UTF8.self) })
            }
            var isSent = false
            let send = { [unowned socket] in
                if isSent { return }
                let result = socket.send { outbox in
                    outbox.add(Array("push/1".utf8))
                    outbox.add(Array(envelope.utf8))
                }
                isSent = result != .wouldBlock
            }
            socket.onWritable = send
            try socket.connect(endpoint)
            send()
            return LoopBound(socket, on: front)
        }
        let ack = await acks.wait(count: 1)
        await socket.with { $0.close() }
        return ack.first ?? []
    }

    // MARK: Events

    /// Returns all events of the log.
    func events() async throws -> [ShownEvent] { try await parts.events() }

    func device(_ name: String) throws -> DeviceID {
        ledger.identities.device(of: Self.app, token: try codec.address("stub:\(name)"))
    }
}
