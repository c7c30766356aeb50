import PushLoop
import PushTransport
import TestSupport
import Testing

@testable import PushSimulator

/// The simulated Apple push service on real sockets and its own event loop. Its clients use another loop.
struct Apple: Sendable {
    let loop: EventLoop
    let clientLoop: EventLoop
    let provider: HostPort
    let binary: HostPort
    let feedback: HostPort
    let control: ControlPort
    let hasManualClock: Bool
    fileprivate let holder: LoopBound<Holder>
    fileprivate let clients: LoopBound<Clients>

    fileprivate final class Holder {
        var service: SimulatorService?

        init(_ service: SimulatorService) {
            self.service = service
        }
    }

    /// The clients to close at the end of a test.
    fileprivate final class Clients {
        let resolver: NameResolver
        var closers: [() -> Void] = []

        init(resolver: NameResolver) {
            self.resolver = resolver
        }
    }

    func with<Result: Sendable>(_ work: @escaping @Sendable (SimulatorService) -> Result) async -> Result {
        await holder.with { work($0.service!) }
    }

    /// Waits, without sleeping, until the service meets a condition. If it never does, the test's time limit ends the
    /// test.
    func until(_ condition: @escaping @Sendable (SimulatorService) -> Bool) async {
        await wait(while: await !with(condition))
    }

    /// Waits until every connection is closed and recorded.
    func untilNoneIsOpen() async {
        await until { $0.connectionCount == 0 }
    }

    /// Creates a client on the clients' loop, and registers the closure that closes it.
    func onClientLoop<Peer>(
        _ make: @escaping @Sendable (EventLoop, NameResolver) throws -> (Peer, close: () -> Void)
    ) async throws -> LoopBound<Peer> {
        try await clients.with { [clientLoop] clients in
            let (peer, close) = try make(clientLoop, clients.resolver)
            clients.closers.append(close)
            return LoopBound(peer, on: clientLoop)
        }
    }

    fileprivate func closeClients() async {
        await clients.with { clients in
            for close in clients.closers { close() }
            clients.closers = []
        }
    }

    func stopService() async {
        let done = EventRecorder<Bool>()
        await loop.run { [holder] in holder.wrapped.service?.stop { done.record(true) } }
        // The control port continues to read for a moment, so that its clients receive their answers before it closes.
        if hasManualClock {
            while done.events.isEmpty { await loop.advance(by: .seconds(1)) }
        }
        await done.wait(count: 1)
    }

    /// Returns true if no port accepts connections.
    func refusesConnections() throws -> Bool {
        [provider.port, binary.port, feedback.port, control.port].allSatisfy { port in
            (try? RawClient(port: port)) == nil
        }
    }

    /// Stops the service. Returns false if a session or timer still retains it.
    fileprivate func stop() async -> Bool {
        await stopService()
        return await holder.with { holder in
            weak let left = holder.service
            holder.service = nil
            return left == nil
        }
    }

    /// Returns the settings for tests, with the keys of ``Credentials``.
    static func settings(_ change: (inout SimulatorSettings) -> Void = { _ in }) -> SimulatorSettings {
        var settings = SimulatorSettings()
        settings.records = 20_000
        settings.retainedBytes = 4 << 20
        settings.keys = Credentials.shared.providerKeys
        change(&settings)
        return settings
    }

    static func options(_ settings: SimulatorSettings) -> SimulatorService.Options {
        let certificates = TestCertificates.shared
        var options = SimulatorService.Options(
            identity: certificates.serverIdentity, clientTrust: certificates.trust)
        options.expiredIdentity = Credentials.shared.expiredServer
        options.settings = settings
        options.publicKeys = Credentials.shared.publicKeys
        return options
    }
}

/// Runs a test with a simulated Apple push service, and checks that nothing retains the service afterwards.
func withApple(
    script: String = "{}", clock: LoopClock = .monotonic, clientClock: LoopClock = .monotonic,
    settings: SimulatorSettings = Apple.settings(), _ body: (Apple) async throws -> Void
) async throws {
    let loop = EventLoop(name: "apple", clock: clock)
    let clientLoop = EventLoop(name: "providers", clock: clientClock)
    let pool = BlockingPool(name: "resolve", threadCount: 1, queueLimit: 4)
    let apple = try await loop.run {
        let service = try SimulatorService(
            on: loop, options: Apple.options(settings), script: try FaultScript(Array(script.utf8)))
        return (
            LoopBound(Apple.Holder(service), on: loop), service.providerAddress!.port, service.binaryAddress!.port,
            service.feedbackAddress!.port, service.controlPort!
        )
    }
    let clients = await clientLoop.run {
        LoopBound(Apple.Clients(resolver: NameResolver(pool: pool)), on: clientLoop)
    }
    let isManual = if case .manual = clock { true } else { false }
    let endpoint = { HostPort(host: "127.0.0.1", port: $0) }
    let scene = Apple(
        loop: loop, clientLoop: clientLoop, provider: endpoint(apple.1), binary: endpoint(apple.2),
        feedback: endpoint(apple.3),
        control: ControlPort(port: apple.4), hasManualClock: isManual, holder: apple.0, clients: clients)
    let outcome: Result<Void, any Error>
    do {
        outcome = .success(try await body(scene))
    } catch {
        outcome = .failure(error)
    }
    await scene.closeClients()
    let isGone = await scene.stop()
    #expect(isGone, "the service is still retained after stop()")
    await clientLoop.shutDown()
    await loop.shutDown()
    await pool.shutDown()
    try outcome.get()
}
