package import PushAPI
package import PushLoop
package import PushModel

/// Gateways with scripted answers that record how they were scaled.
package final class ScriptedGateways: GatewayControl {
    package struct State {
        package var gateways: [GatewayAnswer]
        package var scaled: [String] = []
        /// Thrown by the next call of `scale`.
        package var refusal: (any Error)?
    }

    package let state: Locked<State>

    package init(_ gateways: [GatewayAnswer] = ScriptedGateways.two) {
        state = Locked(State(gateways: gateways))
    }

    package static let two: [GatewayAnswer] = [
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

    package var scaled: [String] { state.withLock { $0.scaled } }

    package func gateways(of node: NodeID?) async throws -> [GatewayAnswer] { state.withLock { $0.gateways } }

    package func gateway(_ app: AppID, on node: NodeID?) async throws -> GatewayAnswer? {
        state.withLock { $0.gateways.first { $0.app == app.name } }
    }

    package func setPaused(_ isPaused: Bool, app: AppID) async throws -> GatewayAnswer? {
        try state.withLock { state throws -> GatewayAnswer? in
            if let refusal = state.refusal.take() { throw refusal }
            guard let index = state.gateways.firstIndex(where: { $0.app == app.name }) else { return nil }
            state.gateways[index].pausedAt = isPaused ? WallTime(milliseconds: 1_767_225_600_000) : nil
            return state.gateways[index]
        }
    }

    package func scale(
        _ app: AppID, to connections: ClosedRange<Int>, on node: NodeID?
    ) async throws -> GatewayAnswer? {
        try state.withLock { state throws -> GatewayAnswer? in
            if let refusal = state.refusal.take() { throw refusal }
            guard let index = state.gateways.firstIndex(where: { $0.app == app.name }) else { return nil }
            state.scaled.append("\(app) \(connections)\(node.map { " on \($0)" } ?? "")")
            state.gateways[index].scale = .init(connections)
            return state.gateways[index]
        }
    }
}
