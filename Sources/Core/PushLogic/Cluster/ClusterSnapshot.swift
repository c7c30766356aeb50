package import PushModel

/// The tables of nodes and leases at one moment.
///
/// - Important: One snapshot of the database must give both tables, as a single statement does. A node that is dead in
///   one read may have joined again and raised its epochs before the next.
package struct ClusterSnapshot: Sendable, Equatable {
    /// `now()` of the database, as the time since any fixed moment.
    package var databaseTime: Duration
    package var nodes: [NodeRow]
    package var leases: [LeaseRow]

    package init(databaseTime: Duration, nodes: [NodeRow], leases: [LeaseRow]) {
        self.databaseTime = databaseTime
        self.nodes = nodes
        self.leases = leases
    }
}

/// A row of the table of nodes.
package struct NodeRow: Sendable, Equatable {
    package enum State: String, Sendable {
        case live
        /// The node hands its partitions over and does not take any.
        case draining
        /// The node left by itself.
        case left
        /// The lease of the node ended, and another node declared it dead.
        case dead
    }

    package var id: NodeID
    package var incarnation: NodeIncarnation
    package var contact: NodeContact
    package var state: State
    /// `until` minus `now()`. It is negative after the lease has ended.
    package var remaining: Duration
    /// The length of the lease of the node.
    package var lease: Duration

    package init(
        id: NodeID, incarnation: NodeIncarnation, contact: NodeContact, state: State, remaining: Duration,
        lease: Duration
    ) {
        self.id = id
        self.incarnation = incarnation
        self.contact = contact
        self.state = state
        self.remaining = remaining
        self.lease = lease
    }

    /// Whether the node may hold partitions and has neither left nor been declared dead.
    package var isMember: Bool { state == .live || state == .draining }

    package var isExpired: Bool { remaining < .zero }
}

/// A row of the table of leases.
package struct LeaseRow: Sendable, Equatable {
    package var part: PartitionID
    package var epoch: PartitionEpoch
    /// The node that the partition belongs to; nil before the first node has taken it.
    package var node: NodeID?

    package init(part: PartitionID, epoch: PartitionEpoch, node: NodeID?) {
        self.part = part
        self.epoch = epoch
        self.node = node
    }
}
