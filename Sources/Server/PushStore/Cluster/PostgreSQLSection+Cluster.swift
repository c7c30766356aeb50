import PushLogic
import PushModel
import PushPostgreSQL
import PushTime

/// The operations of the cluster as calls, and their results.
extension PostgreSQLSection {
    /// Adds the call of an operation.
    ///
    /// - Parameters:
    ///   - node: The node that runs it.
    ///   - version: The version of the program, for the row of the node.
    ///   - endpoints: The addresses of the node for producers. A renewal writes them: they may change after the join.
    func add(_ operation: ClusterOperation, of node: NodeID, version: String, endpoints: NodeEndpoints) {
        switch operation {
        case .snapshot: call(ClusterStatements.snapshot)
        case .join(let join):
            call(ClusterStatements.join) { parameters in
                parameters.append(text: join.id.name)
                parameters.append(int8: join.incarnation.value)
                parameters.append(text: join.contact.address)
                parameters.append(text: join.contact.publicKey)
                parameters.append(int8: join.lease.wholeMicroseconds)
                parameters.append(text: version)
                parameters.append(int8Array: join.predecessors.map(\.value))
                parameters.append(bool: join.replacesExpired)
            }
        case .renew(let incarnation, let isDraining):
            call(ClusterStatements.renew) { parameters in
                parameters.append(text: node.name)
                parameters.append(int8: incarnation.value)
                parameters.append(text: (isDraining ? NodeRow.State.draining : .live).rawValue)
                for endpoint in [endpoints.router, endpoints.http] {
                    if let endpoint { parameters.append(text: endpoint) } else { parameters.appendNull() }
                }
            }
        case .declareDead(let other, let incarnation):
            call(ClusterStatements.declareDead) { parameters in
                parameters.append(text: other.name)
                parameters.append(int8: incarnation.value)
            }
        case .shorten(let other, let incarnation, let until):
            call(ClusterStatements.shorten) { parameters in
                parameters.append(text: other.name)
                parameters.append(int8: incarnation.value)
                parameters.append(timestamp: PostgreSQLTimestamp(microseconds: until.wholeMicroseconds))
            }
        case .leave(let incarnation):
            call(ClusterStatements.leave) { parameters in
                parameters.append(text: node.name)
                parameters.append(int8: incarnation.value)
            }
        case .take(let part, let epoch, let owner): addTake(of: part, epoch: epoch, from: owner, by: node)
        case .handOver(let part, let epoch, let to): addHandOver(of: part, epoch: epoch, to: to, by: node)
        }
    }

    private func addTake(of part: PartitionID, epoch: PartitionEpoch, from owner: NodeID?, by node: NodeID) {
        call(ClusterStatements.take) { parameters in
            parameters.append(text: node.name)
            parameters.append(int4: Int32(part.number))
            parameters.append(int8: epoch.value)
            if let owner { parameters.append(text: owner.name) } else { parameters.appendNull() }
        }
    }

    private func addHandOver(of part: PartitionID, epoch: PartitionEpoch, to other: NodeID, by node: NodeID) {
        call(ClusterStatements.handOver) { parameters in
            parameters.append(text: node.name)
            parameters.append(int4: Int32(part.number))
            parameters.append(int8: epoch.value)
            parameters.append(text: other.name)
        }
    }
}

extension ClusterOperation {
    /// The name of the operation in metrics.
    var name: String {
        switch self {
        case .snapshot: "snapshot"
        case .join: "join"
        case .renew: "renew"
        case .declareDead: "declare_dead"
        case .shorten: "shorten"
        case .take: "take"
        case .handOver: "hand_over"
        case .leave: "leave"
        }
    }

    /// Returns the result of the statement of an operation that is not a snapshot.
    func result(_ reply: PostgreSQLResult) -> ClusterResult {
        guard reply.affectedRows > 0 else { return .missed }
        guard case .take = self else { return .done }
        // The row was written. Without its epoch, it is as if the answer had been lost.
        guard let epoch = try? reply.row().value(0, as: Int64.self) else { return .unknown }
        return .taken(PartitionEpoch(epoch))
    }
}

extension Duration {
    /// The duration in microseconds, as the database counts. Times of the database lie within the range.
    fileprivate var wholeMicroseconds: Int64 { wholeNanoseconds / 1000 }
}
