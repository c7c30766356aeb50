import PushPostgreSQL
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// The check of a store, on servers of its own.
@Suite(.waits) struct StoreCheckTests {
    private static func access(_ url: String, durability: PostgreSQLDurability = .single) throws -> StoreAccess {
        StoreAccess(try PostgreSQLURL.parse(url), durability: durability, resolver: { [$0.name] })
    }

    private static func report(_ url: String, durability: PostgreSQLDurability = .single) async throws -> StoreReport {
        await StoreCheck(try access(url, durability: durability)).report()
    }

    @Test func `A sound store has no faults, and its nodes and tables are reported`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 6, at: .current())
        let access = StoreAccess(options, durability: .single, resolver: { [$0.name] })
        let checker = ServingChecker()
        let node = try await ClusterMember("a", options, checker, lease: .seconds(30))
        await checker.wait(for: [6], of: ["a"])
        let report = await StoreCheck(access).report()
        #expect(report.faults.isEmpty && report.warnings.isEmpty)
        #expect(report.isReached && report.servers.count == 1 && report.servers.first?.info?.isStandby == false)
        #expect(report.facts?.partitions == 6 && report.unowned == 0)
        let row = try #require(report.nodes.first)
        #expect(row.row.id.name == "a" && row.row.state == .live && row.partitions == 6 && row.version == "test")
        #expect(row.row.contact.address == "tcp://a:1" && row.started < row.leaseEnds)
        let groups = try #require(report.tables.first { $0.name == "groups" })
        #expect(groups.bytes > 0 && (groups.parts ?? 0) >= 4)
        let leases = try #require(report.tables.first { $0.name == "leases" })
        #expect(leases.bytes > 0 && leases.parts == nil)
        #expect(!report.tables.contains { $0.name.hasPrefix("groups_") })
        await node.shell.close()
        let later = await StoreCheck(access).report()
        #expect(later.nodes.first?.row.state == .left && later.faults.isEmpty)
    }

    @Test func `Rows that are missing are faults, and partitions of a dead node a warning`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 4, at: .current())
        let access = StoreAccess(options, durability: .single, resolver: { [$0.name] })
        let server = try await SharedPostgreSQL.shared.server()
        try await server.execute(
            "\\connect \(options.database)",
            """
            INSERT INTO carillon.nodes (id, incarnation, address, public_key, state, until, lease, version, started)
            VALUES ('a', 1, 'tcp://a:1', 'k', 'live', now() + interval '1 hour', 1, 'v', now()),
                ('b', 2, 'tcp://b:1', 'k', 'live', now() - interval '1 hour', 1, 'v', now());
            UPDATE carillon.leases SET node = CASE WHEN part < 2 THEN 'a' WHEN part = 2 THEN 'b' END
            """)
        let report = await StoreCheck(access).report()
        #expect(report.faults.isEmpty && report.unowned == 1)
        #expect(report.warnings.count == 1 && report.warnings[0].hasPrefix("2 of 4 partitions have no node"))
        #expect(report.nodes.map(\.partitions) == [2, 1] && report.nodes.map(\.row.isExpired) == [false, true])
        try await server.execute(
            "\\connect \(options.database)",
            "DELETE FROM carillon.leases WHERE part = 3; DELETE FROM carillon.horizons WHERE part < 2")
        let faults = await StoreCheck(access).report().faults
        #expect(faults.count == 2 && faults.allSatisfy { $0.contains("restore the database from a backup") })
        #expect(faults[0].contains("leases") && faults[1].contains("horizons"))
    }

    @Test func `A user that does not own the tables is reported with the remedy`() async throws {
        var options = try await SharedPostgreSQL.shared.store(parts: 1, at: .current())
        let server = try await SharedPostgreSQL.shared.server()
        let (user, owner) = ("\(options.database)_user", options.user)
        options.user = user
        let access = StoreAccess(options, durability: .single, resolver: { [$0.name] })
        try await server.execute("\\connect \(options.database)", "CREATE ROLE \(user) LOGIN")
        #expect(await StoreCheck(access).report().faults.count == 1)
        try await server.execute(
            "\\connect \(options.database)",
            "GRANT USAGE ON SCHEMA carillon TO \(user); GRANT ALL ON ALL TABLES IN SCHEMA carillon TO \(user)")
        let faults = await StoreCheck(access).report().faults
        #expect(faults.count == 1 && faults[0].contains("run GRANT \"\(owner)\" TO \"\(user)\""))
        try await server.execute("GRANT \(owner) TO \(user)")
        #expect(await StoreCheck(access).report().faults.isEmpty)
    }

    @Test func `All unsafe settings of a server are reported at once`() async throws {
        let server = try await PostgreSQLServer.start(
            settings: ["fsync": "off", "full_page_writes": "off", "synchronous_commit": "local"])
        let faults = try await Self.report(server.url(), durability: .replicated).faults
        #expect(faults.count == 5, "\(faults)")
        for (fault, words) in zip(
            faults,
            ["fsync = off", "full_page_writes = off", "synchronous_commit = local", "no synchronous", "no store"])
        {
            #expect(fault.contains(words), "\(fault)")
        }
        await #expect(throws: StoreError.self) {
            _ = try await StoreSetup(try Self.access(server.url())).create(partitions: 1)
        }
    }

    @Test func `A primary and its standby are told apart, and a lost standby is a fault`() async throws {
        let primary = try await PostgreSQLServer.start()
        let standby = try await primary.standby()
        let both = standby.url(with: [primary])
        let alone = await Result { try await StoreSetup(try Self.access(standby.url())).create(partitions: 2) }
        guard case .failure(let error) = alone else {
            Issue.record("a standby has made a store")
            return
        }
        #expect("\(error)".contains("is a standby and accepts no writes; connect to the primary, or promote it"))
        #expect(try await StoreSetup(try Self.access(both)).create(partitions: 2).partitions == 2)
        let report = try await Self.report(both, durability: .replicated)
        #expect(report.faults.isEmpty && report.warnings.isEmpty, "\(report.faults)")
        #expect(report.servers.map { $0.info?.isStandby } == [true, false])
        #expect(report.facts?.partitions == 2)
        let onlyStandby = try await Self.report(standby.url(), durability: .replicated)
        #expect(onlyStandby.faults.count == 1 && onlyStandby.faults[0].contains("is a standby"))

        try await standby.stop()
        try await primary.wait(until: "NOT EXISTS (SELECT FROM pg_stat_replication)")
        let lost = try await Self.report(both, durability: .replicated)
        #expect(lost.warnings.count == 1 && lost.warnings[0].contains("does not answer"))
        #expect(lost.faults.count == 1 && lost.faults[0].contains("(standby) is connected, and each commit waits"))
    }

    @Test func `Two primaries are a fault`() async throws {
        let first = try await PostgreSQLServer.start()
        let second = try await PostgreSQLServer.start()
        _ = try await StoreSetup(try Self.access(first.url())).create(partitions: 2)
        let faults = try await Self.report(first.url(with: [second])).faults
        #expect(faults.count == 1 && faults[0].contains("are both primaries"), "\(faults)")
    }
}
