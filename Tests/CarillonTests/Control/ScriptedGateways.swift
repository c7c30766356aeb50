import PushLoop
import PushModel
import PushTransport
import TestSupport

@testable import carillon

/// Gateways that answer what a test tells them to, and note how they were scaled.
final class ScriptedGateways: GatewayControl {
    struct State {
        var gateways: [GatewayAnswer]
        var scaled: [String] = []
        /// Thrown by the next call of `scale`.
        var refusal: (any Error)?
    }

    let state: Locked<State>

    init(_ gateways: [GatewayAnswer] = ScriptedGateways.two) {
        state = Locked(State(gateways: gateways))
    }

    static let two: [GatewayAnswer] = [
        GatewayAnswer(
            app: "news", environment: "sandbox", state: "connecting", scale: .init(1...1), queue: 0, credit: 0,
            connections: []),
        GatewayAnswer(
            app: "shop", environment: "production", state: "up", scale: .init(1...4), queue: 17, credit: 983,
            connections: [.init(open), .init(ending)]),
    ]

    private static var open: ConnectionStatus {
        var status = ConnectionStatus(id: ConnectionID(3), state: .open, age: .seconds(7384))
        status.address = "17.188.1.2:443"
        status.streamLimit = 1000
        status.inFlight = 12
        status.waiting = 1
        status.answered = 123_456
        status.oldestUnanswered = .microseconds(45_678)
        status.lastPing = .microseconds(1234)
        return status
    }

    private static var ending: ConnectionStatus {
        var status = ConnectionStatus(id: ConnectionID(4), state: .draining, age: .milliseconds(900))
        status.goAwayReason = "Shutdown\u{1b}[31m"
        return status
    }

    var scaled: [String] { state.withLock { $0.scaled } }

    func gateways() async -> [GatewayAnswer] { state.withLock { $0.gateways } }

    func gateway(_ app: AppID) async -> GatewayAnswer? {
        state.withLock { $0.gateways.first { $0.app == app.name } }
    }

    func scale(_ app: AppID, to connections: ClosedRange<Int>) async throws -> GatewayAnswer? {
        try state.withLock { state throws -> GatewayAnswer? in
            if let refusal = state.refusal.take() { throw refusal }
            guard let index = state.gateways.firstIndex(where: { $0.app == app.name }) else { return nil }
            state.scaled.append("\(app) \(connections)")
            state.gateways[index].scale = .init(connections)
            return state.gateways[index]
        }
    }
}

/// A control server on a directory and a loop of its own.
struct RunningControl: Sendable {
    let directory: TemporaryDirectory
    let loop: EventLoop
    let server: ControlServer
    let gateways: ScriptedGateways

    var data: String { "\(directory.path)/data" }
    /// With time enough for a machine that is busy with every other test.
    var client: ControlClient { ControlClient(dataDirectory: data, deadline: .seconds(120)) }

    func raw() throws -> RawClient { try RawClient(unixSocket: server.socketPath) }
}

func withControl(
    limits: HTTP1Limits = ControlServer.limits, clock: LoopClock = .monotonic, more routes: [ControlRoute] = [],
    _ body: (RunningControl) async throws -> Void
) async throws {
    let directory = try TemporaryDirectory()
    let loop = EventLoop(name: "control-test", clock: clock)
    let gateways = ScriptedGateways()
    let server = try await ControlServer(
        try DataLock(directory: "\(directory.path)/data"), on: loop, limits: limits,
        routes: ControlRoutes(GatewayRoutes.all(gateways) + routes))
    do {
        try await body(RunningControl(directory: directory, loop: loop, server: server, gateways: gateways))
    } catch {
        await server.stop(within: .zero)
        await loop.shutDown()
        throw error
    }
    await server.stop(within: .zero)
    await loop.shutDown()
}
