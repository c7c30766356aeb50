import APNs
import PushLoop
import PushModel
import PushTransport
import PushWire
import TestSupport

@testable import PushPipeline

/// An intake with a ledger in memory, and producers on another loop.
struct IntakeScene: Sendable {
    let context: ZMQContext
    let loop: EventLoop
    let other: EventLoop
    let ledger: IntakeLedger
    let intake: Intake
    let endpoints: IntakeEndpoints
    let backlog: Locked<Int>
    private let peers = Locked<[IntakePeer]>([])

    static let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    static let shop = AppID("shop")!
    static let news = AppID("news")!
    static let apps = AppTable([
        AppFacts(id: shop, codec: APNsCodec(app: shop, topic: "com.example.shop", usesToken: true)),
        AppFacts(id: news, codec: APNsCodec(app: news, topic: "com.example.news", usesToken: true)),
    ])

    /// Returns a valid envelope.
    static func envelope(_ id: String, app: String = "shop", alert: String = "Hello") -> String {
        #"{"id":"\#(id)","app":"\#(app)","to":{"tokens":["\#(token)"]},"alert":"\#(alert)"}"#
    }

    static func run(
        clock: LoopClock = .monotonic, waiting: WaitingAcks.Limits = WaitingAcks.Limits(),
        users: [CurvePublicKey: ZAPUser]? = nil, load: AppLoad = AppLoad(),
        _ change: (inout IntakeSettings) -> Void = { _ in },
        _ body: (IntakeScene) async throws -> Void
    ) async throws {
        var settings = IntakeSettings(router: "tcp://127.0.0.1:*", pull: "tcp://127.0.0.1:*", apps: apps)
        // All tests share the process, so its growth is not limited.
        settings.connectionLimits.growth = .max
        change(&settings)
        let context = try ZMQContext()
        let handler = try ZAPHandler(in: context, admitting: users ?? [:])
        let (loop, other) = (EventLoop(name: "intake", clock: clock), EventLoop(name: "producers"))
        let (ledger, backlog) = (IntakeLedger(), Locked(0))
        let intake = Intake(
            on: loop, context: context, ledger: ledger, settings: settings, waiting: WaitingAcks(waiting),
            backlog: { backlog.withLock { $0 } }, load: { _ in load })
        let outcome: Result<Void, any Error>
        var scene: IntakeScene?
        do {
            let endpoints = try await intake.open()
            let made = IntakeScene(
                context: context, loop: loop, other: other, ledger: ledger, intake: intake, endpoints: endpoints,
                backlog: backlog)
            scene = made
            try await body(made)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        for peer in scene?.peers.withLock({ $0 }) ?? [] { await peer.close() }
        ledger.release()
        await intake.stop(within: .zero)
        await context.terminate()
        await loop.shutDown()
        await other.shutDown()
        withExtendedLifetime(handler) {}
        try outcome.get()
    }

    /// Connects a producer: a PUSH socket to PULL, any other kind to ROUTER.
    func peer(
        _ kind: ZMQSocket.Kind = .dealer, on loop: EventLoop? = nil,
        _ change: (inout ZMQSocketOptions) -> Void = { _ in }
    ) async throws -> IntakePeer {
        var options = ZMQSocketOptions()
        options.linger = .zero
        options.reconnectInterval = .milliseconds(20)
        // The timeout is long, so that a busy machine does not look like a broken peer.
        options.handshakeTimeout = .seconds(300)
        options.maxFrameSize = nil
        change(&options)
        let peer = IntakePeer(on: loop ?? other)
        peers.withLock { $0.append(peer) }
        let endpoint = kind == .push ? endpoints.pull : endpoints.router
        try await peer.open(kind, in: context, to: endpoint ?? "", options: options)
        return peer
    }

    /// Returns when intake has processed all calls made before. A message that is sent afterwards arrives later.
    func settle() async { _ = await intake.counts }

    /// Waits until the condition holds, and returns the counts.
    func until(_ isMet: @Sendable (IntakeCounts) -> Bool) async -> IntakeCounts {
        await wait(for: { await intake.counts }, until: isMet)
    }
}
