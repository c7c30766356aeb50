import PushModel
import PushTime

@testable import PushLogic

/// The tables of the model: those of nodes and leases, and the log of each partition.
struct ModelTables {
    struct Node {
        var incarnation: NodeIncarnation
        var contact: NodeContact
        var state: NodeRow.State
        /// By the clock of the database, in nanoseconds.
        var until: Int64
        var lease: Duration
    }

    struct Lease: Equatable {
        var epoch = PartitionEpoch.none
        var node: NodeID?
    }

    enum Write {
        case node(NodeID, Node)
        case lease(Int, Lease)
        case log(Int, entry: Int)
    }

    /// A row that a transaction locks.
    enum Lock: Hashable {
        case node(NodeID)
        case lease(Int)
    }

    var nodes: [NodeID: Node] = [:]
    var leases: [Lease]
    var logs: [[Int]]

    init(partitions: Int) {
        leases = Array(repeating: Lease(), count: partitions)
        logs = Array(repeating: [], count: partitions)
    }

    mutating func apply(_ writes: [Write]) {
        for write in writes {
            switch write {
            case .node(let id, let row): nodes[id] = row
            case .lease(let part, let row): leases[part] = row
            case .log(let part, let entry): logs[part].append(entry)
            }
        }
    }
}
