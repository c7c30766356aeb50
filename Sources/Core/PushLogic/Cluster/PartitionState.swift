package import PushModel
package import PushTime

/// The state of a partition, as one node knows it.
package enum PartitionState: Sendable, Equatable {
    /// The partition belongs to another node or to none, or this node has not raised its epoch yet. The values are
    /// those of the last snapshot. Can transition to: taking.
    case foreign(NodeID?, PartitionEpoch)
    /// This node raises the epoch. Can transition to: loading, foreign.
    case taking(from: NodeID?, PartitionEpoch)
    /// The epoch was raised, its commit was acknowledged, and the partition is being read. Can transition to: serving,
    /// stopped, foreign.
    case loading(PartitionEpoch)
    /// The partition is served, as long as the lease lasts. Can transition to: draining, stopped, foreign.
    case serving(PartitionEpoch)
    /// Nothing is accepted or begun. Deliveries in flight end, and their outcomes are written. Without `to`, the
    /// partition is only given up. Can transition to: handing, loading (it stays), foreign.
    case draining(PartitionEpoch, until: MonotonicTime, to: NodeID?)
    /// This node raises the epoch for another one. Nothing is written. Can transition to: foreign, loading (it
    /// stays).
    case handing(PartitionEpoch, to: NodeID)
    /// The partition is loaded, but the lease has ended. Can transition to: serving, foreign.
    case stopped(PartitionEpoch)

    /// The epoch that this node raised and has not given up.
    package var heldEpoch: PartitionEpoch? {
        switch self {
        case .foreign, .taking: nil
        case .loading(let epoch), .serving(let epoch), .draining(let epoch, _, _), .handing(let epoch, _),
            .stopped(let epoch):
            epoch
        }
    }

    /// The epoch at which the ledger may be written. The database judges each write.
    package var writeEpoch: PartitionEpoch? {
        switch self {
        case .foreign, .taking, .loading, .handing: nil
        case .serving(let epoch), .draining(let epoch, _, _), .stopped(let epoch): epoch
        }
    }

    package var isServing: Bool {
        if case .serving = self { true } else { false }
    }
}
