import PushLogic
import PushModel
import PushPostgreSQL
import PushTime

/// A snapshot of the tables, with the columns that only people look at.
struct ClusterTables {
    /// What a row of a node says besides what the machine needs.
    struct NodeNote {
        let version: String
        let started: WallTime
        let endpoints: NodeEndpoints
    }

    private(set) var snapshot: ClusterSnapshot
    /// The number of the cluster's incarnation.
    let cluster: Int64
    /// The time of the database.
    let time: WallTime
    private(set) var notes: [NodeID: NodeNote] = [:]
    /// The time at which each partition got its owner.
    private(set) var since: [PartitionID: WallTime] = [:]

    /// Reads the result of ``ClusterStatements/snapshot``. A row that is not understood makes all of it invalid, so that
    /// nothing is decided without that row.
    init(_ result: PostgreSQLResult) throws {
        var clock: (now: PostgreSQLTimestamp, cluster: Int64)?
        for row in result.rows where try row.value(0, as: Int32.self) == 0 {
            clock = (try row.value(1), try row.value(3))
        }
        guard let (now, cluster) = clock else { throw StoreError(.damaged, "the snapshot has no time") }
        self.cluster = cluster
        time = now.wallTime
        snapshot = ClusterSnapshot(databaseTime: .microseconds(now.microseconds), nodes: [], leases: [])
        for row in result.rows {
            switch try row.value(0, as: Int32.self) {
            case 1: try addNode(row, now: now)
            case 2: try addLease(row)
            default: break
            }
        }
    }

    /// Returns the number by which nodes compare incarnations of the cluster: the first eight bytes.
    static func number(ofIncarnation bytes: [UInt8]) -> Int64 {
        Int64(bitPattern: bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    private mutating func addNode(_ row: PostgreSQLRow, now: PostgreSQLTimestamp) throws {
        let name: String = try row.value(2)
        let until: PostgreSQLTimestamp = try row.value(7)
        guard let id = NodeID(name), let incarnation = NodeIncarnation(try row.value(3)),
            let state = NodeRow.State(rawValue: try row.value(6))
        else { throw StoreError(.damaged, "the row '\(name)' of the table carillon.nodes is invalid") }
        let (remaining, overflow) = until.microseconds.subtractingReportingOverflow(now.microseconds)
        guard !overflow else {
            throw StoreError(.damaged, "the row '\(name)' of the table carillon.nodes has an invalid time")
        }
        snapshot.nodes.append(
            NodeRow(
                id: id, incarnation: incarnation,
                contact: NodeContact(address: try row.value(4), publicKey: try row.value(5)), state: state,
                remaining: .microseconds(remaining), lease: .microseconds(try row.value(8, as: Int64.self))))
        let started: PostgreSQLTimestamp = try row.value(1)
        notes[id] = NodeNote(
            version: try row.value(9), started: started.wallTime,
            endpoints: NodeEndpoints(router: try row.optional(11), http: try row.optional(12)))
    }

    private mutating func addLease(_ row: PostgreSQLRow) throws {
        let number: Int32 = try row.value(10)
        let owner: String? = try row.optional(2)
        guard let part = PartitionID(Int(number)) else {
            throw StoreError(.damaged, "the table carillon.leases has an invalid partition: \(number)")
        }
        let node = owner.flatMap { NodeID($0) }
        guard owner == nil || node != nil else {
            throw StoreError(.damaged, "the row \(number) of the table carillon.leases has an invalid node")
        }
        snapshot.leases.append(LeaseRow(part: part, epoch: PartitionEpoch(try row.value(3)), node: node))
        let since: PostgreSQLTimestamp? = try row.optional(1)
        self.since[part] = since?.wallTime
    }
}
