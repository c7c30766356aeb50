import PushTime

/// An operation whose result has not arrived.
struct PendingOperation {
    enum Lane: Equatable {
        case snapshot, membership, renewal, declaration, take, handOver
    }

    let operation: ClusterOperation
    /// The time before it was sent.
    let begun: MonotonicTime

    var lane: Lane {
        switch operation {
        case .snapshot: .snapshot
        case .join, .leave: .membership
        case .renew: .renewal
        case .declareDead, .shorten: .declaration
        case .take: .take
        case .handOver: .handOver
        }
    }
}
