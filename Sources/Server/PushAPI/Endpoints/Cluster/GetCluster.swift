package import PushModel

/// `GET /v1/cluster`: the nodes and partitions of the cluster, as this node sees them. They concern all apps, so that a
/// key of some apps gets what a single node answers.
package struct GetCluster: Endpoint {
    package static let operation = Operation(
        .get, at: "/v1/cluster", id: "getCluster", access: .role(.observe), subject: "Server",
        summary: "Returns the nodes and partitions of the cluster, as this node sees them; {} for a single node.")

    private let source: any ClusterSource

    package init(source: any ClusterSource) {
        self.source = source
    }

    package func answer(_ input: NoInput, for caller: Caller) async -> Reply<ClusterAnswer> {
        Reply(ClusterAnswer(cluster: caller.apps == nil ? await source.cluster() : nil))
    }
}
