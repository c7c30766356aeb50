import PushModel
import PushPostgreSQL

/// The check of a store: each host of the URL is examined as a node does at its start, and then the tables on the primary
/// are read. It changes nothing.
package struct StoreCheck: Sendable {
    private let access: StoreAccess

    package init(_ access: StoreAccess) {
        self.access = access
    }

    package func report() async -> StoreReport {
        var report = StoreReport()
        for host in access.options.hosts {
            var server = StoreReport.Server(host: host)
            do {
                server.info = try await access.examine(host)
            } catch {
                server.fault = "\(error)"
            }
            report.servers.append(server)
        }
        report.compareServers()
        guard let primary = report.servers.first(where: { $0.info?.isStandby == false })?.host else { return report }
        do {
            report = try await access.inspect(primary) { [report] call in
                try await Self.tables(call, addingTo: report)
            }
        } catch {
            report.faults.append("\(error)")
        }
        return report
    }

    private static func tables(_ call: StoreCall, addingTo report: StoreReport) async throws -> StoreReport {
        var report = report
        try await addStandbys(call, to: &report)
        let presence = try await StoreSetup.presence(call)
        if let fault = presence.encodingFault { report.faults.append(fault) }
        guard presence.hasStore else {
            report.faults.append(StoreSchema.absence(in: presence.database))
            return report
        }
        let facts = try await StoreSetup.facts(call)
        report.facts = facts
        if let fault = facts.versionFault {
            report.faults.append(fault)
            return report
        }
        try await addOwner(presence, over: call, to: &report)
        let results = try await call.run { section in
            section.call(ClusterStatements.snapshot)
            section.call(sizes)
            section.call(horizons)
        }
        guard results.count == 3 else { throw StoreError(.cannotRead, "\(call.name): an answer is missing") }
        report.add(try ClusterTables(results[0]), partitions: facts.partitions)
        for row in results[1].rows {
            let parts: Int64 = try row.value(2)
            report.tables.append(
                .init(
                    name: try row.value(0), bytes: try row.value(1),
                    parts: try row.value(3, as: Bool.self) ? Int(clamping: parts) : nil))
        }
        if try results[2].row().value(0, as: Int64.self) != facts.partitions {
            report.faults.append(
                "the table carillon.horizons does not have one row for each of the \(facts.partitions) partitions; "
                    + "restore the database from a backup")
        }
        return report
    }

    // MARK: Servers

    /// `sync_state` is null for users that may not see it.
    private static let standbys = PostgreSQLStatement.once(
        sql: """
            SELECT current_setting('synchronous_standby_names'), count(*),
                count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')), count(*) FILTER (WHERE sync_state IS NULL)
            FROM pg_stat_replication
            """)

    private static func addStandbys(_ call: StoreCall, to report: inout StoreReport) async throws {
        let row = try await call.run { $0.call(standbys) }[0].row()
        let names: String = try row.value(0)
        let synchronous: Int64 = try row.value(2)
        let hidden: Int64 = try row.value(3)
        guard !names.allSatisfy(\.isWhitespace), synchronous == 0, hidden == 0 else { return }
        report.faults.append(
            "no standby of synchronous_standby_names (\(names)) is connected, and each commit waits for one; start the "
                + "standby, or correct synchronous_standby_names")
    }

    // MARK: Tables

    /// The size of each table. The parts of `groups` and `bodies` count as these.
    private static let sizes = PostgreSQLStatement.once(
        sql: """
            SELECT name, sum(bytes)::int8, count(*) FILTER (WHERE is_part), bool_or(is_parted) FROM (
                SELECT coalesce(parent.relname, item.relname)::text AS name, pg_total_relation_size(item.oid) AS bytes,
                    parent.oid IS NOT NULL AS is_part, item.relkind = 'p' AS is_parted
                FROM pg_class item LEFT JOIN pg_inherits ON inhrelid = item.oid
                    LEFT JOIN pg_class parent ON parent.oid = inhparent
                WHERE item.relnamespace = 'carillon'::regnamespace AND item.relkind IN ('r', 'p')) AS items
            GROUP BY name ORDER BY name
            """)

    private static let horizons = PostgreSQLStatement.once(sql: "SELECT count(*) FROM carillon.horizons")

    /// Only the owner of a table may add a part to it, which nodes do every hour.
    private static let owner = PostgreSQLStatement.once(
        sql: """
            SELECT pg_get_userbyid(relowner)::text FROM pg_class
            WHERE oid = 'carillon.groups'::regclass AND NOT pg_has_role(relowner, 'USAGE')
            """)

    private static func addOwner(
        _ presence: StorePresence, over call: StoreCall, to report: inout StoreReport
    ) async throws {
        let result = try await call.run { $0.call(owner) }[0]
        guard result.rowCount > 0 else { return }
        let name: String = try result.row().value(0)
        report.faults.append(
            "the user \(presence.user) does not own the tables of the store, and nodes could not add the tables of "
                + "coming days; connect as \(name), or run GRANT \"\(name)\" TO \"\(presence.user)\"")
    }
}
