import PushLoop
import PushModel
import PushTransport
import PushWire

@testable import PushPipeline

/// An intake with a ledger in memory, and producers on a loop of their own.
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
        AppFacts(id: shop, topic: "com.example.shop", usesToken: true),
        AppFacts(id: news, topic: "com.example.news", usesToken: true),
    ])

    /// An envelope that is taken.
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
        // The process is that of all tests.
        settings.door.growth = .max
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

    /// Connected to the ROUTER, a PUSH to the PULL.
    func peer(
        _ kind: ZMQSocket.Kind = .dealer, on loop: EventLoop? = nil,
        _ change: (inout ZMQSocketOptions) -> Void = { _ in }
    ) async throws -> IntakePeer {
        var options = ZMQSocketOptions()
        options.linger = .zero
        options.reconnectInterval = .milliseconds(20)
        // A busy machine is no broken peer.
        options.handshakeTimeout = .seconds(300)
        options.maxFrameSize = nil
        change(&options)
        let peer = IntakePeer(on: loop ?? other)
        peers.withLock { $0.append(peer) }
        let endpoint = kind == .push ? endpoints.pull : endpoints.router
        try await peer.open(kind, in: context, to: endpoint ?? "", options: options)
        return peer
    }

    /// After this what was said to intake before has been heard: a message that is sent then comes later.
    func settle() async { _ = await intake.counts }

    /// Looks again and again, as the loop turns, until intake is as it should be.
    func until(_ isMet: @Sendable (IntakeCounts) -> Bool) async -> IntakeCounts {
        while true {
            let counts = await intake.counts
            if isMet(counts) { return counts }
            await Task.yield()
        }
    }
}
