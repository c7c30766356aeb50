package import PushLogic
package import PushModel
package import PushPostgreSQL
package import PushTime

/// The cluster as one node sees it, for operators.
package struct ClusterStatus: Sendable {
    package struct Node: Sendable {
        package let row: NodeRow
        /// The version of its program.
        package let version: String
        package let started: WallTime
        /// The addresses for producers.
        package let endpoints: NodeEndpoints
    }

    package struct Partition: Sendable {
        package let part: PartitionID
        /// The node that the table names.
        package let owner: NodeID?
        package let epoch: PartitionEpoch
        /// The time at which it got this owner, by the database's clock.
        package let since: WallTime?
        /// The state on this node.
        package let state: PartitionState?
    }

    package let node: NodeID
    package let incarnation: NodeIncarnation
    package let isMember: Bool
    package let isDraining: Bool
    package let hasEnded: Bool
    /// The time for which this node may still send without another renewal; zero if it must not send.
    package let sendsFor: Duration
    /// The time since the last renewal that succeeded was sent. It is at most a third of the lease, and a moment, unless
    /// the database is slow.
    package let lag: Duration?
    package let nodes: [Node]
    package let partitions: [Partition]
    /// The database; nil until the first connection.
    package let database: DatabaseIdentity?
    /// The server that this node is connected to; nil while it is not.
    package let server: ServerInfo?
    /// Why there is no connection.
    package let fault: String?
}
