import APNs
import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushTransport
import TestSupport

/// One gateway with its owner and its world, on one loop whose clock the test controls.
final class GatewayScene: @unchecked Sendable {
    // Unchecked: it is used on the loop only, which `on` enters.
    let loop: EventLoop
    let world: ScriptedWorld
    let tokens: ScriptedTokens?
    private(set) var gateway: Gateway!
    private(set) var outcomes: [UInt64: [DeliveryReport]] = [:]
    private(set) var events: [GatewayEvent] = []
    private(set) var credit = 0
    private(set) var recalled: UInt64 = 0
    private var taken: UInt64 = 0
    private(set) var submitted: UInt64 = 0
    private(set) var renewals = 0
    private var lastTicket: UInt64 = 0
    var wall = WallTime(milliseconds: 1_700_000_000_000)
    private static let app = AppID("shop")!

    init(
        on loop: EventLoop, seed: UInt64 = 1, usesTokens: Bool = false,
        policy: GatewayPolicy = .with { _ in }, world prepare: (ScriptedWorld) -> Void = { _ in }
    ) {
        self.loop = loop
        world = ScriptedWorld(on: loop, seed: seed)
        prepare(world)
        tokens = usesTokens ? ScriptedTokens(on: loop) : nil
        let pool = BlockingPool(name: "unused", threadCount: 1, queueLimit: 0)
        var settings = GatewaySettings(
            app: Self.app, endpoint: HostPort(host: "push.example", port: 443), reasons: .apns,
            resolver: NameResolver(pool: pool)
        ) { [world] in world.connect($0) }
        settings.seed = seed
        settings.lookUp = { _, completion in completion(.success(["10.0.0.1", "10.0.0.2", "10.0.0.3"])) }
        settings.reasons = Self.reasons
        settings.policy = policy
        settings.wallClock = { [unowned self] in wall }
        gateway = Gateway(
            on: loop, connectionLoops: [loop], settings: settings,
            client: GatewayClient(on: loop) { [unowned self] in take($0) }, tokens: tokens?.source)
    }

    deinit {
        world.forget()
    }

    private static let words: [String: Disposition] = [
        "drop": .drop, "deactivate": .deactivate, "retry": .retry, "reconnect": .reconnect,
        "renewToken": .renewToken, "renewTokenOnce": .renewTokenOnce, "slowMinting": .slowMinting, "halt": .halt,
    ]

    /// A reason names its disposition.
    private static let reasons = ReasonTable.apns.changing { status, reason, _ in
        words[reason?.rawValue ?? ""] ?? ReasonTable.apns.disposition(status: status, reason: nil)
    }

    private func take(_ report: GatewayReport) {
        for delivery in report.deliveries { outcomes[delivery.delivery.ticket, default: []].append(delivery) }
        events += report.events
        credit = report.credit
        taken = report.taken
        recalled = report.recalled
    }

    /// The number of deliveries that may be submitted now.
    var window: Int { max(0, credit - Int(submitted - taken)) }

    func message(expiresAt: Int64? = nil) -> Message {
        Message(
            id: MessageID("m-\(lastTicket)")!, app: Self.app, expiry: Expiry(expiresAt: expiresAt),
            payload: Array("{}".utf8))
    }

    /// Submits deliveries. Called on the loop.
    @discardableResult
    func submit(_ count: Int, expiresAt: Int64? = nil, of known: Message? = nil, attempt: UInt16 = 0) -> [UInt64] {
        let message = known ?? message(expiresAt: expiresAt)
        var batch: [Delivery] = []
        for _ in 0..<count {
            lastTicket += 1
            batch.append(
                Delivery(
                    ticket: lastTicket, message: message, token: Address(words: (lastTicket, 0, 0, 0)),
                    deliveryID: DeliveryID(high: 0, low: lastTicket), attempt: attempt))
        }
        submitted += UInt64(count)
        gateway.submit(batch)
        return batch.map(\.ticket)
    }

    /// Runs work on the loop, at the current time of the scene.
    @discardableResult
    func on<Result: Sendable>(_ work: @escaping @Sendable (GatewayScene) -> Result) async -> Result {
        await loop.run { work(self) }
    }

    func pass(_ duration: Duration) async {
        await loop.advance(by: duration)
    }

    func outcome(_ ticket: UInt64) async -> DeliveryOutcome? {
        await on { $0.outcomes[ticket]?.last?.outcome }
    }

    /// Whether the delivery came back unchanged.
    func isReturned(_ ticket: UInt64) async -> Bool {
        await on { scene in scene.outcomes[ticket]?.last.map { $0.outcome == nil } ?? false }
    }

    func allOutcomes() async -> [DeliveryOutcome?] {
        await on { scene in scene.outcomes.keys.sorted().flatMap { scene.outcomes[$0] ?? [] }.map(\.outcome) }
    }

    /// Drains the gateway. Returns false if it has not ended long after the deadline.
    func drain(within: Duration) async -> Bool {
        let isOver = Locked(false)
        let gateway = gateway!
        let drain = Task {
            await gateway.drain(within: within)
            isOver.withLock { $0 = true }
        }
        // The task may need some turns to start; the time limit of the drain begins only then.
        for _ in 0..<100_000 {
            if isOver.withLock({ $0 }) {
                await drain.value
                return true
            }
            await loop.advance(by: within * 0.1)
            await pace()
        }
        return false
    }
}

/// A token source whose tokens differ only in their generation.
final class ScriptedTokens: @unchecked Sendable {
    // Unchecked: it is used on the loop only.
    private let loop: EventLoop
    private var take: TokenSource.Take?
    private var generation: UInt64 = 0
    private(set) var refusals: [UInt64] = []
    private(set) var slowDowns = 0
    var canMint = true
    /// Whether the source mints no token because the last one is too recent.
    var isSlow = false

    init(on loop: EventLoop) {
        self.loop = loop
    }

    struct Failure: Error {}

    func mint() {
        guard canMint else { return take?(.failure(Failure())) ?? () }
        generation += 1
        take?(
            .success(
                ProviderToken(
                    text: Secret("t"), generation: generation,
                    mintedAt: loop.now)))
    }

    var source: TokenSource {
        TokenSource(
            subscribe: { loop, take in
                loop.execute {
                    self.take = take
                    self.mint()
                }
                return {}
            },
            refused: { generation in
                self.loop.execute {
                    self.refusals.append(generation)
                    if generation == self.generation, !self.isSlow { self.mint() }
                }
            },
            mintedTooOften: { self.loop.execute { self.slowDowns += 1 } })
    }
}

extension GatewayPolicy {
    static func with(_ change: (inout GatewayPolicy) -> Void) -> GatewayPolicy {
        var policy = GatewayPolicy()
        policy.connects = .unlimited
        change(&policy)
        return policy
    }
}
