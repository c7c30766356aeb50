import PushGateways
import PushLoop
import PushModel
import PushTransport

/// Sends through a gateway as `carillon serve` has them, made from an app as the configuration has them.
extension Demonstration {
    static let app = AppID("shop")!

    /// The simulated Apple as the push service of an app with the simulator's provider key.
    private var configured: Configuration.App {
        var gateway = Configuration.Gateway()
        gateway.connections = 1...1
        gateway.answerTimeout = .seconds(5)
        return Configuration.App(
            id: Self.app, topic: SimulatorFiles.clientTopic, environment: .production,
            credential: .token(
                key: files.providerKeyPath, keyID: SimulatorFiles.keyID, teamID: SimulatorFiles.teamID),
            gateway: gateway,
            endpoint: Configuration.Endpoint(
                host: places.provider.host, port: places.provider.port, trust: .file(files.authorityPath)),
            broadcast: Configuration.Broadcast(send: places.provider, manage: places.provider))
    }

    /// What became of each delivery, by its place; each is reported once.
    func send(_ deliveries: [Delivery]) async throws -> [DeliveryReport] {
        let loop = EventLoop(name: "demonstration")
        let pool = BlockingPool(name: "demonstration", threadCount: 2, queueLimit: 16)
        let reports = DemonstrationReports(awaiting: deliveries.count)
        let gateway: Gateway
        do {
            let configured = configured
            let loaded = try await pool.run { try AppGateway(configured) }
            gateway = loaded.open(
                on: loop, connectionLoops: [loop], tokens: ProviderTokens(on: loop), resolver: NameResolver(pool: pool),
                client: GatewayClient(loop: loop) { reports.add($0.deliveries) })
        } catch {
            await loop.shutDown()
            throw Failure(.failed, "the credential of the demonstration cannot be used: \(error)")
        }
        gateway.submit(deliveries)
        let all = await reports.wait()
        await gateway.drain(within: .seconds(2))
        await loop.shutDown()
        await pool.shutDown()
        return all.sorted { $0.delivery.ticket < $1.delivery.ticket }
    }
}

/// Gathers reports until there is one for each delivery.
private final class DemonstrationReports: Sendable {
    private struct State {
        var reports: [DeliveryReport] = []
        var waiter: CheckedContinuation<[DeliveryReport], Never>?
    }

    private let count: Int
    private let state = Locked(State())

    init(awaiting count: Int) {
        self.count = count
    }

    func add(_ new: [DeliveryReport]) {
        let (waiter, all) = state.withLock { state in
            state.reports += new
            return (state.reports.count >= count ? state.waiter.take() : nil, state.reports)
        }
        waiter?.resume(returning: all)
    }

    func wait() async -> [DeliveryReport] {
        await withCheckedContinuation { continuation in
            let all = state.withLock { state -> [DeliveryReport]? in
                if state.reports.count >= count { return state.reports }
                state.waiter = continuation
                return nil
            }
            if let all { continuation.resume(returning: all) }
        }
    }
}
