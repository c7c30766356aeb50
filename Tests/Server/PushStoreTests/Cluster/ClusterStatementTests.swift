import PushLoop
import PushModel
import PushPostgreSQL
import TestSupport
import TestTraits
import Testing

@testable import PushLogic
@testable import PushStore

/// The conditions of the operations, which the model of the walks in PushLogicTests has as well.
@Suite(.waits) struct ClusterStatementTests {
    /// The connection of node `a`.
    private struct Desk {
        let loop = EventLoop(name: "desk")
        let link: LoopBound<ClusterLink>
        let options: PostgreSQLOptions

        init() async throws {
            options = try await SharedPostgreSQL.shared.store(parts: 2, at: .current())
            let settings = ClusterMember.settings(
                "a", options, lease: .seconds(60), in: try TemporaryDirectory())
            let up = EventRecorder<DatabaseIdentity>()
            let loop = loop
            link = await loop.run {
                let link = ClusterLink(settings, on: loop)
                link.onUp = { up.record($0) }
                link.start()
                return LoopBound(link, on: loop)
            }
            let identity = await up.wait(count: 1).first
            #expect(identity?.partitions == 2)
        }

        func run(_ operation: ClusterOperation) async -> ClusterResult {
            await withCheckedContinuation { continuation in
                loop.execute { link.wrapped.run(operation) { result, _ in continuation.resume(returning: result) } }
            }
        }

        @discardableResult
        func sql(_ statement: String) async throws -> String {
            try await SharedPostgreSQL.shared.server().execute("\\connect \(options.database)", statement)
        }

        /// Replaces the table of nodes by one row, or by none.
        func setNode(_ row: String?) async throws {
            try await sql("DELETE FROM carillon.nodes")
            guard let row else { return }
            let words = row.split(separator: " ")
            try await sql(
                """
                INSERT INTO carillon.nodes VALUES ('\(words[0])', \(words[1]), 'old', 'old', '\(words[2])',
                    clock_timestamp() + interval '\(words[3]) s', 60000000, 'old', clock_timestamp())
                """)
        }

        func close() async {
            await link.with { $0.stop() }
            await loop.shutDown()
        }
    }

    private static let a = NodeID("a")!
    private static let b = NodeID("b")!

    @Test func `A node joins if its name is free or its predecessor has ended`() async throws {
        let desk = try await Desk()
        let five = try #require(NodeIncarnation(5))
        func join(_ predecessors: Set<NodeIncarnation> = [], replacesExpired: Bool = false) async -> ClusterResult {
            await desk.run(
                .join(
                    NodeJoin(
                        id: Self.a, incarnation: NodeIncarnation(7)!,
                        contact: NodeContact(address: "tcp://new:1", publicKey: "new"), lease: .seconds(5),
                        predecessors: predecessors, replacesExpired: replacesExpired)))
        }
        let allowed: [(String?, Set<NodeIncarnation>, Bool)] = [
            (nil, [], false), ("a 7 live 60", [], false), ("a 7 live -60", [], false), ("a 5 dead 60", [], false),
            ("a 5 left 60", [], false), ("a 5 live 60", [five], false), ("a 5 draining 60", [five], false),
            ("a 5 live -60", [], true), ("a 5 draining -60", [], true), ("b 5 live 60", [], false),
        ]
        for (row, predecessors, replacesExpired) in allowed {
            try await desk.setNode(row)
            #expect(await join(predecessors, replacesExpired: replacesExpired) == .done, "\(row ?? "none")")
            let joined = try await desk.sql(
                """
                SELECT incarnation, address, public_key, state, lease, version,
                    until - clock_timestamp() BETWEEN interval '-1 min' AND interval '5 s' FROM carillon.nodes
                    WHERE id = 'a'
                """)
            #expect(joined == "7|tcp://new:1|new|live|5000000|test|t")
        }
        let refused: [(String, Set<NodeIncarnation>, Bool)] = [
            ("a 7 dead 60", [], true), ("a 7 left 60", [], true), ("a 7 draining 60", [], true),
            ("a 7 dead -60", [NodeIncarnation(7)!], true), ("a 5 live 60", [], true), ("a 5 live -60", [], false),
            ("a 5 live 60", [NodeIncarnation(6)!], false),
        ]
        for (row, predecessors, replacesExpired) in refused {
            try await desk.setNode(row)
            #expect(await join(predecessors, replacesExpired: replacesExpired) == .missed, "\(row)")
            #expect(try await desk.sql("SELECT address FROM carillon.nodes") == "old")
        }
        await desk.close()
    }

    @Test func `A lease is renewed, shortened and ended only as its row allows`() async throws {
        let desk = try await Desk()
        let (five, six) = (NodeIncarnation(5)!, NodeIncarnation(6)!)
        func check(_ row: String, _ operation: ClusterOperation, _ result: ClusterResult) async throws {
            try await desk.setNode(row)
            #expect(await desk.run(operation) == result, "\(row): \(operation)")
        }
        try await check("a 5 live -1", .renew(incarnation: five, isDraining: false), .done)
        #expect(try await desk.sql("SELECT until > clock_timestamp() + '50 s', state FROM carillon.nodes") == "t|live")
        try await check("a 5 live 9", .renew(incarnation: five, isDraining: true), .done)
        #expect(try await desk.sql("SELECT state FROM carillon.nodes") == "draining")
        try await check("a 5 dead 9", .renew(incarnation: five, isDraining: false), .missed)
        try await check("a 5 left 9", .renew(incarnation: five, isDraining: false), .missed)
        try await check("a 5 live 9", .renew(incarnation: six, isDraining: false), .missed)
        try await check("b 5 live 9", .renew(incarnation: five, isDraining: false), .missed)

        try await check("b 5 live 9", .declareDead(Self.b, incarnation: five), .missed)
        try await check("b 5 live -9", .declareDead(Self.b, incarnation: six), .missed)
        try await check("b 5 left -9", .declareDead(Self.b, incarnation: five), .missed)
        try await check("b 5 draining -9", .declareDead(Self.b, incarnation: five), .done)
        try await check("b 5 live -9", .declareDead(Self.b, incarnation: five), .done)
        #expect(try await desk.sql("SELECT state FROM carillon.nodes") == "dead")

        try await desk.setNode("b 5 live 7777")
        guard case .snapshot(let snapshot) = await desk.run(.snapshot) else {
            Issue.record("no snapshot")
            return
        }
        let row = try #require(snapshot.nodes.first)
        #expect(row.remaining > .seconds(7000) && row.lease == .seconds(60) && row.state == .live)
        let until = snapshot.databaseTime + row.remaining
        let other = until + .microseconds(1)
        #expect(await desk.run(.shorten(Self.b, incarnation: five, until: other)) == .missed)
        #expect(await desk.run(.shorten(Self.b, incarnation: six, until: until)) == .missed)
        #expect(await desk.run(.shorten(Self.b, incarnation: five, until: until)) == .done)
        #expect(try await desk.sql("SELECT until < clock_timestamp() + '61 s' FROM carillon.nodes") == "t")

        try await check("a 5 live 9", .leave(incarnation: six), .missed)
        try await check("a 5 live 9", .leave(incarnation: five), .done)
        #expect(try await desk.sql("SELECT state FROM carillon.nodes") == "left")
        await desk.close()
    }

    @Test func `A partition is taken and handed over only at its epoch and from its owner`() async throws {
        let desk = try await Desk()
        let part = PartitionID(1)!
        func take(_ epoch: Int64, from owner: NodeID?) async -> ClusterResult {
            await desk.run(.take(part, epoch: PartitionEpoch(epoch), from: owner))
        }
        func handOver(_ epoch: Int64) async -> ClusterResult {
            await desk.run(.handOver(part, epoch: PartitionEpoch(epoch), to: Self.b))
        }
        #expect(await take(0, from: Self.b) == .missed)
        #expect(await take(1, from: nil) == .missed)
        #expect(await take(0, from: nil) == .taken(PartitionEpoch(1)))
        #expect(await take(0, from: nil) == .missed)
        #expect(await take(1, from: Self.a) == .taken(PartitionEpoch(2)))
        #expect(await handOver(1) == .missed)
        #expect(await handOver(2) == .done)
        #expect(await handOver(3) == .missed)
        #expect(await take(3, from: Self.a) == .missed)
        #expect(await take(3, from: Self.b) == .taken(PartitionEpoch(4)))
        guard case .snapshot(let snapshot) = await desk.run(.snapshot) else {
            Issue.record("no snapshot")
            return
        }
        let leases = snapshot.leases.sorted { $0.part < $1.part }
        #expect(
            leases == [
                LeaseRow(part: PartitionID(0)!, epoch: .none, node: nil),
                LeaseRow(part: part, epoch: PartitionEpoch(4), node: Self.a),
            ])
        await desk.close()
    }

    @Test func `Rows that are not understood make no snapshot`() async throws {
        let desk = try await Desk()
        try await desk.setNode("b 5 live 60")
        try await desk.sql("UPDATE carillon.nodes SET id = 'not a name'")
        #expect(await desk.run(.snapshot) == .refused)
        try await desk.setNode(nil)
        try await desk.sql("UPDATE carillon.leases SET node = '' WHERE part = 0")
        #expect(await desk.run(.snapshot) == .refused)
        await desk.close()
    }

    @Test func `An operation that waits for a locked row is refused, and does not delay the next for long`()
        async throws
    {
        let desk = try await Desk()
        // The statements of a simple query hold their locks until the last one has ended.
        async let locked = desk.sql("SELECT FROM carillon.leases WHERE part = 1 FOR UPDATE; SELECT pg_sleep(600)")
        try await SharedPostgreSQL.shared.server().wait(
            until: "EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE '%FOR UPDATE; SELECT pg_sleep(600)%' AND "
                + "wait_event = 'PgSleep' AND pid <> pg_backend_pid())")
        #expect(await desk.run(.take(PartitionID(1)!, epoch: .none, from: nil)) == .refused)
        #expect(await desk.run(.take(PartitionID(0)!, epoch: .none, from: nil)) == .taken(PartitionEpoch(1)))
        try await SharedPostgreSQL.shared.server().execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%FOR UPDATE; SELECT pg_sleep(600)%' "
                + "AND pid <> pg_backend_pid()")
        _ = try? await locked
        await desk.close()
    }

    @Test func `Nodes that left or died are removed after a day, unless a partition names them`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 2, at: .current())
        let server = try await SharedPostgreSQL.shared.server()
        try await server.execute(
            "\\connect \(options.database)",
            """
            INSERT INTO carillon.nodes
            SELECT id, 5, 'old', 'old', state, clock_timestamp() - age, 5000000, 'old', clock_timestamp()
            FROM (VALUES ('left', 'left', interval '25 h'), ('dead', 'dead', '25 h'), ('fresh', 'left', '23 h'),
                ('owner', 'dead', '25 h')) AS rows (id, state, age)
            """,
            "UPDATE carillon.leases SET node = 'owner', epoch = 3")
        let checker = ServingChecker()
        let node = try await ClusterMember("a", options, checker)
        // The rows are removed before the tables are read for the first time.
        await checker.wait(for: [2], of: ["a"])
        let names = try await server.execute(
            "\\connect \(options.database)", "SELECT string_agg(id, ' ' ORDER BY id) FROM carillon.nodes")
        #expect(names == "a fresh owner")
        await node.shell.close()
        #expect(checker.violations.isEmpty)
    }
}
