import PushConfiguration
import PushModel
import ServerTestSupport
import Testing

@testable import PushServer

extension ServedStatus {
    /// The status of the app of ``minimalApp`` with a gateway in the given state, or without a gateway.
    static func sample(
        _ state: GatewayStatus.State?, open: Int = 0, failed: Int = 0, fault: String? = nil,
        connection: ConnectionFault? = nil, hasBeenUp: Bool = false, nextTrial: Duration? = nil,
        sent: Int = 0
    ) throws -> ServedStatus {
        let app = try #require(try parseConfiguration("{ \(minimalApp) }").configuration.apps.first)
        let connections = (0..<open).map { ConnectionStatus(id: ConnectionID(UInt32($0)), state: .open, age: .zero) }
        var status = state.map {
            GatewayStatus(
                state: $0, queue: 0, outstanding: sent, credit: 0, minimum: 1, maximum: 4, wanted: 1,
                failedConnectsInARow: failed, counts: GatewayCounts(), connections: connections)
        }
        status?.fault = connection
        status?.hasBeenUp = hasBeenUp
        status?.nextTrial = nextTrial
        return ServedStatus(app: app, connections: 1...4, fault: fault, gateway: status)
    }
}
