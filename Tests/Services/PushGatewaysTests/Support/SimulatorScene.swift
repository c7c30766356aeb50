import PushLoop
import PushSimulator
import PushTransport
import TestSupport

/// The simulated Apple on real sockets and its own loop, with a loop and threads for its clients.
struct SimulatorScene: Sendable {
    let loop: EventLoop
    let clientLoop: EventLoop
    let pool: BlockingPool
    private let service: LoopBound<SimulatorService>

    var resolver: NameResolver { NameResolver(pool: pool) }

    func with<Result: Sendable>(_ work: @escaping @Sendable (SimulatorService) -> Result) async -> Result {
        await service.with(work)
    }

    /// Waits without sleeping until the condition holds.
    func until(_ condition: @escaping @Sendable (SimulatorService) -> Bool) async {
        await wait(while: await !with(condition))
    }

    /// Runs a test with a simulator, and stops the simulator afterwards.
    static func run(
        script: String, clock: LoopClock = .monotonic, clientClock: LoopClock,
        options change: (inout SimulatorService.Options) -> Void, _ body: (SimulatorScene) async throws -> Void
    ) async throws {
        let certificates = TestCertificates.shared
        var options = SimulatorService.Options(identity: certificates.serverIdentity, clientTrust: certificates.trust)
        change(&options)
        let loop = EventLoop(name: "apple", clock: clock)
        let service = try await loop.run { [options] in
            LoopBound(
                try SimulatorService(on: loop, options: options, script: try FaultScript(Array(script.utf8))), on: loop)
        }
        let scene = SimulatorScene(
            loop: loop, clientLoop: EventLoop(name: "clients", clock: clientClock),
            pool: BlockingPool(name: "blocking", threadCount: 2, queueLimit: 64), service: service)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(scene))
        } catch {
            outcome = .failure(error)
        }
        await service.stop()
        await scene.clientLoop.shutDown()
        await loop.shutDown()
        await scene.pool.shutDown()
        try outcome.get()
    }
}
