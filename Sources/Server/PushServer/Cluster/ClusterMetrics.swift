import PushLoop
import PushModel
import PushTime

/// The metrics of a node of a cluster. They are computed from what the node has published, without a wait for its loop:
/// a scrape must show that the database or the disk hangs.
enum ClusterMetrics {
    static func register(_ node: ServedNode, in registry: MetricsRegistry) {
        let state = node.state
        registry.computedGauge("carillon_cluster_member", help: "1 while this node is a member of its cluster.") {
            state.obstacle == nil ? 1 : 0
        }
        registry.computedGauge(
            "carillon_cluster_partitions", help: "Partitions that this node holds, or is taking."
        ) { Double(state.owners.owners.count { $0 == .this }) }
        registry.computedGauge(
            "carillon_cluster_partitions_unowned", help: "Partitions that no live node holds, as this node knows them."
        ) { Double(state.owners.owners.count { $0 == .nobody }) }
        registry.computedGauge(
            "carillon_cluster_renewal_age_seconds",
            help: "Time since the last renewal of the lease, or since the start before the first one."
        ) { (MonotonicTime.sinceBoot() - state.renewedAt).inSeconds }
        registry.computedCounter(
            "carillon_cluster_takeovers_total",
            help: "Partitions that this node took because they had no live owner."
        ) { Double(state.journal.takeovers) }
        registry.computedCounter(
            "carillon_cluster_fenced_total", help: "Partitions that another node took while this one held them."
        ) { Double(state.journal.fenced) }
    }
}
