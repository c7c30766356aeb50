import PushLogic
import PushModel
import PushPostgreSQL
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// What operators do with a store, on real servers.
@Suite(.waits) struct StoreSetupTests {
    private static func access(
        _ options: PostgreSQLOptions, durability: PostgreSQLDurability = .single
    ) -> StoreAccess {
        StoreAccess(options, durability: durability, resolver: { [$0.name] })
    }

    private static func setup(_ options: PostgreSQLOptions) -> StoreSetup { StoreSetup(access(options)) }

    private static func query(_ sql: String, _ options: PostgreSQLOptions) async throws -> String {
        try await SharedPostgreSQL.shared.server().execute("\\connect \(options.database)", sql)
    }

    /// Returns the error of a call that must fail.
    private static func failure(_ body: () async throws -> Void) async throws -> StoreError {
        do {
            try await body()
        } catch let error as StoreError {
            return error
        }
        Issue.record("the call succeeded")
        return StoreError(.damaged, "")
    }

    // MARK: Create

    @Test func `A new store can be used, and a second one in its database is refused`() async throws {
        let options = try await SharedPostgreSQL.shared.emptyDatabase()
        let facts = try await Self.setup(options).create(partitions: 3)
        #expect(facts.version == StoreFacts.currentVersion && facts.partitions == 3 && facts.incarnation.count == 16)
        #expect(facts.versionFault == nil)
        let node = try await LedgerNode(options)
        #expect(node.ledger.map == PartitionMap(count: 3, by: .id))
        #expect(await node.load(2, epoch: PartitionEpoch(0)) == nil)
        await node.ledger.close()
        let refusal = try await Self.failure { _ = try await Self.setup(options).create(partitions: 3) }
        #expect(refusal.code == .unsuitable)
        #expect(refusal.description.contains("has a store already, with version 3 of the tables and 3 partitions"))
        #expect(try await Self.query("SELECT count(*) FROM carillon.leases", options) == "3")
    }

    /// What makes tables of the second version.
    private static let asSecondVersion = [
        "ALTER TABLE carillon.store DROP COLUMN part_rule",
        """
        ALTER TABLE carillon.devices DROP COLUMN kind, DROP COLUMN kind_stated, DROP COLUMN activity,
            DROP COLUMN activity_type, DROP COLUMN installation, DROP COLUMN time_zone
        """,
        "DROP INDEX carillon.devices_by_app", "DROP INDEX IF EXISTS carillon.devices_by_account",
        "CREATE INDEX devices_by_account ON carillon.devices (account, app, id) WHERE account IS NOT NULL",
        "CREATE INDEX devices_by_app ON carillon.devices (app, id) INCLUDE (token, deactivated)",
        "UPDATE carillon.store SET version = 2",
    ]

    /// What makes tables of the first version from those of the second.
    private static let asFirstVersion = [
        "DROP TABLE carillon.app_marks", "DROP TABLE carillon.reports",
        "CREATE TABLE carillon.paused (app text PRIMARY KEY, since bigint NOT NULL)",
        "INSERT INTO carillon.paused VALUES ('shop', 1234)", "UPDATE carillon.store SET version = 1",
    ]

    /// The columns and indexes of all tables.
    private static func schema(_ options: PostgreSQLOptions) async throws -> String {
        try await query(
            """
            SELECT string_agg(line, E'\n' ORDER BY line) FROM (
                SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable || ' '
                    || coalesce(column_default, '') AS line
                FROM information_schema.columns WHERE table_schema = 'carillon' AND table_name !~ '_[0-9]+$'
                UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'carillon' AND tablename !~ '_[0-9]+$') AS t
            """, options)
    }

    @Test func `Tables of the first version are migrated with their pauses, once no node runs`() async throws {
        let options = try await SharedPostgreSQL.shared.emptyDatabase()
        let made = try await Self.setup(options).create(partitions: 3)
        let new = try await Self.schema(options)
        for sql in Self.asSecondVersion + Self.asFirstVersion + [
            """
            INSERT INTO carillon.nodes (id, incarnation, address, public_key, state, until, lease, version, started)
            VALUES ('a', 1, '', '', 'live', clock_timestamp() + interval '1 hour', 1, '', now())
            """
        ] { _ = try await Self.query(sql, options) }
        let old = try await Self.failure { _ = try await LedgerNode(options) }
        #expect(old.description.contains("run 'carillon store migrate'"), "\(old)")
        let early = try await Self.failure { _ = try await Self.setup(options).migrate() }
        #expect(early.code == .unsuitable && early.description.contains("nodes still run on the store: a"), "\(early)")
        _ = try await Self.query("UPDATE carillon.nodes SET until = now() - interval '1 s'", options)
        let (facts, earlier) = try await Self.setup(options).migrate()
        #expect(facts.version == 3 && earlier == 1 && facts.incarnation == made.incarnation)
        let (ledger, backlog) = try await PostgreSQLLedger.open(SharedPostgreSQL.settings(options))
        #expect(backlog.paused == [AppID("shop")!: WallTime(milliseconds: 1234)])
        await ledger.close()
        #expect(try await Self.setup(options).migrate().earlier == 3)
        #expect(try await Self.query("SELECT to_regclass('carillon.paused') IS NULL", options) == "t")
        #expect(try await Self.schema(options) == new)
    }

    /// The keys of a store are fingerprints of apps and ids: they stay in the partitions in which they are.
    @Test func `A store of the second version keeps its rule for partitions, and its devices`() async throws {
        let options = try await SharedPostgreSQL.shared.emptyDatabase()
        _ = try await Self.setup(options).create(partitions: 5)
        let new = try await Self.schema(options)
        for sql in Self.asSecondVersion + [
            """
            INSERT INTO carillon.devices (id, app, token, tags, version)
            VALUES (decode('00000000000000000000000000000001', 'hex'), 'shop', decode('abcd', 'hex'), '{}', 1)
            """
        ] { _ = try await Self.query(sql, options) }
        #expect(try await Self.setup(options).migrate().earlier == 2)
        #expect(try await Self.schema(options) == new)
        #expect(try await Self.query("SELECT kind = 0 AND NOT kind_stated FROM carillon.devices", options) == "t")
        let node = try await LedgerNode(options)
        #expect(node.ledger.map == PartitionMap(count: 5, by: .appAndID))
        await node.ledger.close()
    }

    @Test(arguments: [-1, 0, 257])
    func `The number of partitions has bounds`(_ count: Int) async throws {
        let options = PostgreSQLOptions(hosts: [], database: "none", user: "none")
        let refusal = try await Self.failure { _ = try await Self.setup(options).create(partitions: count) }
        #expect(refusal.description == "the number of partitions must be from 1 to 256, not \(count)")
    }

    @Test func `The smallest and the largest store can be made`() async throws {
        for count in [1, 256] {
            let options = try await SharedPostgreSQL.shared.emptyDatabase()
            #expect(try await Self.setup(options).create(partitions: count).partitions == count)
            #expect(await StoreCheck(Self.access(options)).report().faults.isEmpty)
        }
    }

    @Test func `Of two commands at the same time, one makes the store`() async throws {
        let options = try await SharedPostgreSQL.shared.emptyDatabase()
        async let first = Result { try await Self.setup(options).create(partitions: 4) }
        async let second = Result { try await Self.setup(options).create(partitions: 5) }
        let results = await [first, second]
        let made = results.compactMap { try? $0.get() }
        #expect(made.count == 1)
        let errors = results.compactMap { result -> StoreError? in
            if case .failure(let error) = result { error as? StoreError } else { nil }
        }
        let count = try #require(made.first).partitions
        #expect(errors.map(\.code) == [.unsuitable])
        #expect(errors.first?.description.contains("and \(count) partitions") == true)
        #expect(try await Self.query("SELECT count(*) FROM carillon.leases", options) == "\(count)")
    }

    @Test func `A foreign schema, an encoding and a missing right are refused, and nothing is left`() async throws {
        let foreign = try await SharedPostgreSQL.shared.emptyDatabase()
        _ = try await Self.query("CREATE SCHEMA carillon", foreign)
        let first = try await Self.failure { _ = try await Self.setup(foreign).create(partitions: 1) }
        #expect(first.description.contains("a schema named carillon that is not a store"))

        let latin = try await SharedPostgreSQL.shared.emptyDatabase("ENCODING 'LATIN1' TEMPLATE template0")
        let second = try await Self.failure { _ = try await Self.setup(latin).create(partitions: 1) }
        #expect(second.description.contains("encoding LATIN1") && second.description.contains("ENCODING 'UTF8'"))

        var plain = try await SharedPostgreSQL.shared.emptyDatabase()
        _ = try await Self.query("CREATE ROLE \(plain.database)_user LOGIN", plain)
        plain.user = "\(plain.database)_user"
        let third = try await Self.failure { _ = try await Self.setup(plain).create(partitions: 1) }
        #expect(third.code == .notPermitted)
        #expect(third.description.contains("GRANT CREATE ON DATABASE \"\(plain.database)\" TO \"\(plain.user)\""))
        for options in [latin, plain] {
            #expect(
                try await Self.query("SELECT count(*) FROM pg_namespace WHERE nspname = 'carillon'", options) == "0")
        }
        // With the right that the error names, it succeeds.
        _ = try await Self.query("GRANT CREATE ON DATABASE \(plain.database) TO \(plain.user)", plain)
        #expect(try await Self.setup(plain).create(partitions: 1).partitions == 1)
    }

    @Test func `A failure in the middle leaves nothing`() async throws {
        let options = try await SharedPostgreSQL.shared.emptyDatabase()
        // The last statements make the parts of tables, of which this trigger refuses one.
        _ = try await Self.query(
            """
            CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
                IF EXISTS (SELECT FROM pg_class WHERE relname LIKE 'bodies\\_%' AND relispartition) THEN
                    RAISE EXCEPTION 'refused by the test'; END IF; END $$;
            CREATE EVENT TRIGGER refuse ON ddl_command_end EXECUTE FUNCTION refuse()
            """, options)
        let refusal = try await Self.failure { _ = try await Self.setup(options).create(partitions: 2) }
        #expect(refusal.description.contains("nothing was changed") && refusal.description.contains("by the test"))
        #expect(try await Self.query("SELECT count(*) FROM pg_namespace WHERE nspname = 'carillon'", options) == "0")
        _ = try await Self.query("DROP EVENT TRIGGER refuse", options)
        #expect(try await Self.setup(options).create(partitions: 2).partitions == 2)
    }

    @Test func `A server that does not answer is reported at once, without the password`() async throws {
        var options = try PostgreSQLURL.parse("postgres://carillon:s3same-4711@127.0.0.1:1/carillon")
        options.connectTimeout = .seconds(60)
        let refusal = try await Self.failure { _ = try await Self.setup(options).create(partitions: 2) }
        #expect(refusal.code == .cannotOpen && refusal.description.contains("127.0.0.1:1"))
        #expect(!refusal.description.contains("s3same"))
        let report = await StoreCheck(Self.access(options)).report()
        #expect(!report.isReached && report.faults.count == 1)
        #expect(!"\(report)".contains("s3same"))
    }

    // MARK: Migrate

    @Test func `A store of this version needs no migration, and others are refused`() async throws {
        let options = try await SharedPostgreSQL.shared.emptyDatabase()
        let missing = try await Self.failure { _ = try await Self.setup(options).migrate() }
        #expect(missing.description.contains("has no store; make one with 'carillon store init'"))
        let made = try await Self.setup(options).create(partitions: 2)
        let (facts, earlier) = try await Self.setup(options).migrate()
        #expect(facts == made && earlier == 3)
        for (version, words) in [
            (4, "or a newer one"), (0, "an import into the store"), (-1, "no Carillon has written"),
        ] {
            _ = try await Self.query("UPDATE carillon.store SET version = \(version)", options)
            let refusal = try await Self.failure { _ = try await Self.setup(options).migrate() }
            #expect(refusal.code == .newerVersion && refusal.description.contains(words))
            #expect(await StoreCheck(Self.access(options)).report().faults == [refusal.description])
        }
    }

    // MARK: Restored

    @Test func `Nodes stop when their store is declared restored, and serve after a restart`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 4, at: .current())
        let checker = ServingChecker()
        let node = try await ClusterMember("a", options, checker)
        await checker.wait(for: [4], of: ["a"])
        #expect(try await Self.setup(options).liveNodes() == ["a"])
        let before = try await Self.setup(options).migrate().facts
        let after = try await Self.setup(options).declareRestored()
        #expect(after.incarnation != before.incarnation && after.incarnation.count == 16)
        #expect((after.partitions, after.created) == (before.partitions, before.created))
        // The node stays connected: it must notice without a reconnection.
        let ends = await node.ends.wait(count: 1)
        #expect(ends.first??.contains("was restored from a backup") == true)
        #expect(!node.permit.isValid)
        #expect(checker.changes.events.last == [:])
        await node.shell.close()
        let next = try await ClusterMember("a", options, checker, in: node.directory)
        await checker.wait(for: [4], of: ["a"])
        #expect(next.host.loads.events.allSatisfy { $0.epoch > PartitionEpoch(1 << 32) })
        await next.shell.close()
        #expect(checker.violations.isEmpty)
    }

    @Test func `A node of the lost database can write nothing after the restore`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 1, at: .current())
        _ = try await Self.query("UPDATE carillon.leases SET epoch = 5, node = 'old'", options)
        let node = try await LedgerNode(options)
        try await node.open(0, epoch: PartitionEpoch(5))
        #expect(await node.accept([push("before")]) == [.accepted(seq: 1)])
        _ = try await Self.setup(options).declareRestored()
        #expect(try await Self.query("SELECT epoch FROM carillon.leases", options) == "\(5 + (1 << 32))")
        let refused = await node.accept([push("after")])
        #expect(refused != [.accepted(seq: 2)])
        #expect(await node.lost.wait(count: 1) == [LedgerNode.id(0)])
        #expect(try await Self.query("SELECT count(*) FROM carillon.groups", options) == "1")
        await node.ledger.close()
    }

    @Test func `A store is declared restored while nodes write`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 8, at: .current())
        let node = try await LedgerNode(options)
        for part in 0..<8 { try await node.open(part, epoch: PartitionEpoch(0)) }
        async let accepted = node.accept((0..<500).map { push("m\($0)") })
        _ = try await Self.setup(options).declareRestored()
        _ = await accepted
        // Each write is before the change or refused: no message is in the log unless the node has acknowledged it.
        _ = try await Self.setup(options).declareRestored()
        #expect(try await Self.query("SELECT min(epoch) FROM carillon.leases", options) == "\(2 << 32)")
        await node.ledger.close()
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
