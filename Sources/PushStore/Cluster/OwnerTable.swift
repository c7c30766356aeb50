package import PushModel

/// The owner of each partition, as this node knows it at one moment.
package struct OwnerTable: Sendable, Equatable {
    package enum Owner: Sendable, Equatable {
        /// This node holds the partition, or is taking it.
        case this
        case other(NodeID, NodeContact)
        /// No member holds the partition. It is taken in a moment.
        case nobody
    }

    /// The owners in the order of the partitions; empty until the node has connected to the database.
    package internal(set) var owners: [Owner] = []

    package subscript(part: PartitionID) -> Owner {
        owners.indices.contains(part.number) ? owners[part.number] : .nobody
    }
}
