import PushModel

@testable import PushLogic

extension ClusterMachine.Action {
    /// The action in a few words, for histories.
    var short: String {
        switch self {
        case .run(let id, .join(let join)): "\(id.number) join \(join.incarnation)"
        case .run(let id, let operation): "\(id.number) \(operation)"
        default: "\(self)"
        }
    }
}

extension ClusterResult {
    /// The result in a few words, for histories.
    var short: String {
        guard case .snapshot(let snapshot) = self else { return "\(self)" }
        let nodes = snapshot.nodes.map { "\($0.id)=\($0.state)\($0.isExpired ? "!" : "")" }
        let leases = snapshot.leases.map { "\($0.node?.name ?? "-")@\($0.epoch)" }
        return "read \(nodes.joined(separator: " ")) | \(leases.joined(separator: " "))"
    }
}
