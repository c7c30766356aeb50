package import PushModel

/// The number of an operation. Later operations have larger numbers.
package struct OperationID: Hashable, Comparable, Sendable {
    package let number: UInt64

    package static func < (left: OperationID, right: OperationID) -> Bool { left.number < right.number }
}

/// An operation of the database: one transaction each. The conditions are part of its statements.
package enum ClusterOperation: Sendable, Equatable {
    /// Read both tables in one statement.
    case snapshot
    case join(NodeJoin)
    /// Set `until = now() + lease` and the state of the node, if its row has this incarnation and is live or draining.
    case renew(incarnation: NodeIncarnation, isDraining: Bool)
    /// Set the state of another node to dead, if its row has this incarnation, is live or draining, and
    /// `until < now()`.
    case declareDead(NodeID, incarnation: NodeIncarnation)
    /// Set `until = now() + lease` of another node, if its row has this incarnation and exactly this `until`, given as
    /// the time since the moment that ``ClusterSnapshot/databaseTime`` is counted from. The clock of the database went
    /// back, and without this the lease of a dead node would last until it is where it was.
    case shorten(NodeID, incarnation: NodeIncarnation, until: Duration)
    /// Raise the epoch by one and set the node to this one, if the row has this epoch and this owner. The result is the
    /// new epoch.
    case take(PartitionID, epoch: PartitionEpoch, from: NodeID?)
    /// Raise the epoch by one and set the node to `to`, if the row has this epoch and belongs to this node.
    case handOver(PartitionID, epoch: PartitionEpoch, to: NodeID)
    /// Set the state of this node to left, if its row has this incarnation.
    case leave(incarnation: NodeIncarnation)
}

/// The row of a node that joins, and the rows that it may replace.
///
/// The node inserts its row. If there is one with its name, it replaces that row if one of these is true, and otherwise
/// changes nothing:
/// - The row has the same incarnation and is live: the join has been carried out before, and its answer was lost. (A
///   row with the same incarnation that is dead must not live again.)
/// - The row has another incarnation, and it is dead or left, or `predecessors` contains its incarnation, or
///   `replacesExpired` is set and `until < now()`.
package struct NodeJoin: Sendable, Equatable {
    package let id: NodeID
    package let incarnation: NodeIncarnation
    package let contact: NodeContact
    package let lease: Duration
    /// Incarnations whose process is known to have ended, or to have stopped.
    package let predecessors: Set<NodeIncarnation>
    package let replacesExpired: Bool
}

/// The result of an operation. Every operation has exactly one, at most `ClusterPolicy.operationTimeout` after it was
/// sent.
package enum ClusterResult: Sendable, Equatable {
    /// The transaction was committed, and its commit was acknowledged.
    case done
    /// The take was committed, and its commit was acknowledged.
    case taken(PartitionEpoch)
    case snapshot(ClusterSnapshot)
    /// The conditions did not hold: zero rows.
    case missed
    /// The database answered with an error. The transaction was not committed.
    case refused
    /// The operation was not sent.
    case notSent
    /// The transaction may have been committed, or may still be.
    case unknown
}
