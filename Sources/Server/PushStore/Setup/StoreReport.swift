package import PushLogic
package import PushPostgreSQL
package import PushTime

/// The servers of a store, its tables and its nodes, and the faults that would keep a node from using it.
package struct StoreReport: Sendable {
    /// One host of the URL.
    package struct Server: Sendable {
        package let host: PostgreSQLHost
        /// Nil if the server does not answer.
        package var info: ServerInfo?
        /// Why the server does not answer.
        package var fault: String?
    }

    package struct Node: Sendable {
        package let row: NodeRow
        package let leaseEnds: WallTime
        package let version: String
        package let started: WallTime
        /// The number of its partitions.
        package let partitions: Int
    }

    package struct Table: Sendable {
        package let name: String
        /// The size on disk, with indexes.
        package let bytes: Int64
        /// The number of its parts, each for a day or an hour; nil if the table is one whole.
        package let parts: Int?
    }

    package var servers: [Server] = []
    package var facts: StoreFacts?
    package var nodes: [Node] = []
    /// The number of partitions without an owner.
    package var unowned = 0
    package var tables: [Table] = []
    /// What keeps nodes from using the store, and what to do.
    package var faults: [String] = []
    /// What an operator should know.
    package var warnings: [String] = []

    /// Whether any server answered.
    package var isReached: Bool { servers.contains { $0.info != nil } }

    /// Adds what the tables of the cluster contain, and what is wrong with them.
    mutating func add(_ tables: ClusterTables, partitions: Int) {
        let snapshot = tables.snapshot
        let databaseTime = PostgreSQLTimestamp(microseconds: snapshot.databaseTime.wholeNanoseconds / 1000).wallTime
        let owned = Dictionary(grouping: snapshot.leases, by: \.node).mapValues(\.count)
        nodes = snapshot.nodes.sorted { $0.id.name < $1.id.name }.map { row in
            Node(
                row: row, leaseEnds: databaseTime.adding(milliseconds: row.remaining.wholeMilliseconds),
                version: tables.notes[row.id]?.version ?? "", started: tables.notes[row.id]?.started ?? .distantPast,
                partitions: owned[row.id] ?? 0)
        }
        unowned = owned[nil] ?? 0
        let numbers = snapshot.leases.map(\.part.number).sorted()
        if numbers != Array(0..<max(0, partitions)) {
            faults.append(
                "the table carillon.leases does not have one row for each of the \(partitions) partitions; restore the "
                    + "database from a backup")
        }
        let serving = Set(snapshot.nodes.filter { $0.isMember && !$0.isExpired }.map(\.id))
        let waiting = snapshot.leases.count { row in row.node.map { !serving.contains($0) } ?? true }
        if !serving.isEmpty, waiting > 0 {
            warnings.append(
                "\(waiting) of \(partitions) partitions have no node whose lease is valid; the other nodes take them "
                    + "within two leases, so check again, and read the logs of the nodes if it stays so")
        }
    }

    /// Adds what is wrong with the servers as a group.
    mutating func compareServers() {
        let reached = servers.compactMap(\.info)
        for server in servers where server.info == nil {
            let text = "the server \(server.host) does not answer: \(server.fault ?? "no reason is known")"
            // Any of the others may be the primary.
            if reached.contains(where: { !$0.isStandby }) {
                warnings.append(text + "; nodes use another host of the URL, and cannot use this one if that fails")
            } else {
                faults.append(text)
            }
        }
        let primaries = reached.filter { !$0.isStandby }
        for primary in primaries { faults += primary.faults }
        if primaries.isEmpty, !reached.isEmpty {
            faults += reached.flatMap(\.faults)
        }
        if primaries.count > 1 {
            faults.append(
                "\(primaries.map { "\($0.target.host)" }.joined(separator: " and ")) are both primaries, and nodes could "
                    + "use either; stop the one that was replaced, or name only one of them")
        }
        if Set(reached.map(\.systemIdentifier)).count > 1 {
            faults.append(
                "the hosts of the URL are servers of different databases (their system identifiers differ); name only "
                    + "the primary and its standbys")
        }
        for primary in primaries {
            if let warning = ClusterLink.clockWarning(offset: primary.clockOffset, roundTrip: primary.roundTrip) {
                warnings.append(warning)
            }
        }
    }
}
