import PushLogic
import PushLoop
import PushModel

extension Logger {
    /// Logs a change of the cluster.
    func report(_ event: ClusterEvent) {
        switch event {
        case .joined(let incarnation):
            notice("joined the cluster", [.event: "cluster.joined", .incarnation: incarnation.value])
        case .nameInUse:
            error(
                "another process has the name of this node: this one waits until the lease of that one has ended",
                [.event: "cluster.name_in_use"])
        case .left: notice("left the cluster", [.event: "cluster.left"])
        case .lost:
            error(
                "this node was declared dead, because its lease was not renewed in time; it joins again",
                [.event: "cluster.lost"])
        case .dead(let node, _):
            warning("node declared dead: its lease has ended", [.event: "cluster.dead", .node: node.name])
        case .takeover(let part, let epoch, let former):
            notice(
                "partition taken",
                [
                    .event: "partition.taken", .partition: part.number, .epoch: epoch.value,
                    .node: former?.name ?? "-",
                ])
        case .handover(let part, let epoch, let node):
            notice(
                "partition handed over",
                [.event: "partition.handed_over", .partition: part.number, .epoch: epoch.value, .node: node.name])
        case .fenced(let part, let epoch):
            warning(
                "partition lost: another node has taken it",
                [.event: "partition.fenced", .partition: part.number, .epoch: epoch.value])
        case .stopped:
            error(
                "sending stopped: the lease of this node was not renewed in time; check the database",
                [.event: "cluster.stopped"])
        case .resumed(let partitions):
            notice("sending resumed", [.event: "cluster.resumed", .count: partitions])
        case .newPrimary(let timeline):
            warning(
                "the database has a new primary", [.event: "cluster.new_primary", .timeline: Int(clamping: timeline)])
        case .clockStepped(let step):
            warning(
                "the clock of the database stepped forward: no node is declared dead for the time of a lease",
                [.event: "cluster.clock_stepped", .duration: step])
        case .halted(let halt):
            error("\(halt.sentence)", [.event: "cluster.halted"])
        }
    }
}
