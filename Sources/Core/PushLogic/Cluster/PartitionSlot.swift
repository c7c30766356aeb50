import PushModel
import PushTime

/// The state of one partition, and the times that belong to it.
struct PartitionSlot {
    var state = PartitionState.foreign(nil, .none)
    /// The last operation before the state was last changed by this node. Snapshots up to it may show the state before.
    var changedAfter = OperationID(number: 0)
    /// The time since which snapshots show the partition without an owner.
    var orphanSince: MonotonicTime?
    var loadFailures = 0
    /// The time of the next attempt to load, after one that failed.
    var loadsAgainAt: MonotonicTime?
}
