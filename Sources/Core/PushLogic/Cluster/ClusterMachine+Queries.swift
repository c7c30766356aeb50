package import PushModel
package import PushTime

extension ClusterMachine {
    /// Returns whether a delivery may begin for the partition, and whether a message may be accepted.
    package func maySend(_ part: PartitionID, at now: MonotonicTime) -> Bool {
        now < sendsUntil && isServing(part)
    }

    /// Returns the epoch for writes to the partition, or nil if this node must not write. The database rejects the
    /// write if the epoch is not current.
    package func mayWrite(_ part: PartitionID) -> PartitionEpoch? { state(of: part)?.writeEpoch }

    /// Returns whether this node serves the partition, whether or not its lease lasts.
    package func isServing(_ part: PartitionID) -> Bool { state(of: part)?.isServing ?? false }

    /// Returns the state of the partition; nil if the cluster does not have it.
    package func state(of part: PartitionID) -> PartitionState? {
        slots.indices.contains(part.number) ? slots[part.number].state : nil
    }

    /// Returns the node that messages for the partition are forwarded to. It is nil if this node holds the partition,
    /// or if no member does.
    package func owner(of part: PartitionID) -> NodeRow? {
        guard case .foreign(let owner?, _)? = state(of: part), owner != id else { return nil }
        return nodes.first { $0.id == owner && $0.isMember }
    }

    package var isMember: Bool { phase == .member }
    package var hasEnded: Bool { phase == .ended }

    /// Returns the time at which ``timePassed(now:)`` is to be called next.
    package func nextDeadline() -> MonotonicTime? {
        guard phase != .ended else { return nil }
        var next = MonotonicTime.distantFuture
        if phase == .member, !permit.isSuspended { next = min(next, permit.deadline) }
        if isConnected {
            if phase == .member, !isPending(.renewal) { next = min(next, times.renewal) }
            if phase == .member || phase == .observing, !isPending(.snapshot) { next = min(next, times.snapshot) }
        }
        for slot in slots {
            if case .draining(_, let until, _) = slot.state { next = min(next, until) }
            if let again = slot.loadsAgainAt { next = min(next, again) }
        }
        return next == .distantFuture ? nil : next
    }
}
