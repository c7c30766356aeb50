/// The members of a cluster and the owners of its partitions, as one node knows them at one moment.
package struct OwnerTable: Sendable, Equatable {
    package enum Owner: Sendable, Equatable {
        /// This node holds the partition, or is taking it.
        case this
        case other(NodeID, NodeContact)
        /// No member holds the partition. It is taken in a moment.
        case nobody
    }

    /// The owners in the order of the partitions; empty until the node has connected to the database.
    package var owners: [Owner]
    /// The other nodes that have neither left nor been declared dead.
    package var members: [NodeID: NodeContact]

    /// The addresses of the live nodes for producers, this node included.
    package var endpoints: [NodeID: NodeEndpoints]

    package init(
        owners: [Owner] = [], members: [NodeID: NodeContact] = [:], endpoints: [NodeID: NodeEndpoints] = [:]
    ) {
        self.owners = owners
        self.members = members
        self.endpoints = endpoints
    }

    /// Whether a node among the given ones owns a partition.
    package func isOwned(byOneOf nodes: Set<NodeID>) -> Bool {
        owners.contains { if case .other(let node, _) = $0 { nodes.contains(node) } else { false } }
    }

    package subscript(part: PartitionID) -> Owner {
        owners.indices.contains(part.number) ? owners[part.number] : .nobody
    }
}
