package import PushModel

/// A change that operators see.
package enum ClusterEvent: Sendable, Equatable {
    case joined(NodeIncarnation)
    /// Another process has the name of this node and renews its lease. This node waits until that lease has ended.
    case nameInUse(NodeIncarnation)
    case left
    /// This node was declared dead and joins again.
    case lost(NodeIncarnation)
    /// This node declared another one dead.
    case dead(NodeID, NodeIncarnation)
    /// This node took a partition from a node that is dead or left, or one that had no owner.
    case takeover(PartitionID, PartitionEpoch, from: NodeID?)
    /// This node handed a partition over.
    case handover(PartitionID, PartitionEpoch, to: NodeID)
    /// Another node has raised the epoch of a partition that this node held.
    case fenced(PartitionID, PartitionEpoch)
    /// The lease ended without a renewal, and this node stopped sending.
    case stopped
    /// The lease was renewed, and this node sends again for this number of partitions.
    case resumed(partitions: Int)
    /// A standby was promoted.
    case newPrimary(timeline: UInt32)
    /// The clock of the database stepped forward. Nodes are not declared dead for the time of one lease.
    case clockStepped(by: Duration)
    case halted(ClusterHalt)
}

/// The reason for which a node stops for good.
package enum ClusterHalt: Sendable, Equatable {
    case otherSystem(expected: UInt64, found: UInt64)
    case otherCluster(expected: Int64, found: Int64)
    case otherPartitions(expected: Int, found: Int)
    case invalidPartitions(Int)

    /// The reason and the remedy as a sentence.
    package var sentence: String {
        switch self {
        case .otherSystem(let expected, let found):
            "the database is another one: its system identifier is \(found), and this node joined \(expected); "
                + "correct store, or restart the node if the database was replaced on purpose"
        case .otherCluster(let expected, let found):
            "the database was restored from a backup: its cluster incarnation is \(found), and this node joined "
                + "\(expected); restart the node"
        case .otherPartitions(let expected, let found):
            "the database has \(found) partitions, and this node joined \(expected); the number is fixed when the "
                + "store is created, so restore the table of leases"
        case .invalidPartitions(let found):
            "the database has \(found) partitions, and 1 to \(PartitionID.maxCount) are possible; create the store "
                + "with carillon store init"
        }
    }
}
