import PushLogic
import PushModel
import PushPostgreSQL
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// Nodes and databases that fail.
@Suite(.waits) struct ClusterFaultTests {
    private let checker = ServingChecker()

    private static func store(parts: Int = 16) async throws -> PostgreSQLOptions {
        try await SharedPostgreSQL.shared.store(parts: parts, at: .current())
    }

    private static func change(_ options: PostgreSQLOptions, _ statements: String...) async throws {
        let server = try await SharedPostgreSQL.shared.server()
        for statement in statements { _ = try await server.execute("\\connect \(options.database)", statement) }
    }

    /// Returns a proxy before the shared server, and how to connect through it.
    private static func proxy(
        _ options: PostgreSQLOptions
    ) async throws -> (proxy: CuttingProxy, options: PostgreSQLOptions) {
        let proxy = try CuttingProxy(to: try await SharedPostgreSQL.shared.server().port)
        var options = options
        options.hosts = [PostgreSQLHost(name: "127.0.0.1", port: proxy.port)]
        return (proxy, options)
    }

    // MARK: The connection

    @Test func `A node that is cut off stops by its own clock, and another one takes its partitions`() async throws {
        let direct = try await Self.store()
        let (proxy, options) = try await Self.proxy(direct)
        let cut = try await ClusterMember("a", options, checker)
        let other = try await ClusterMember("b", direct, checker)
        await checker.wait(for: [8, 8], of: ["a", "b"])
        proxy.hold(.requests)
        proxy.hold(.answers)
        await cut.events.wait { $0.contains(.stopped) }
        #expect(!cut.permit.isValid)
        await checker.wait(for: [16], of: ["b"])
        proxy.cut()
        // It finds that it was declared dead, and joins again.
        await checker.wait(for: [8, 8], of: ["a", "b"])
        let joined = cut.events.events.count { if case .joined = $0 { true } else { false } }
        #expect(joined >= 2)
        await ClusterMember.close(cut, other)
        #expect(checker.violations.isEmpty)
    }

    @Test func `A partition whose take had no answer is served at the epoch after it`() async throws {
        let options = try await Self.store(parts: 4)
        // The first take of partition 2 is committed long after the node has given its answer up.
        try await Self.change(
            options, "CREATE SEQUENCE carillon.takes",
            """
            CREATE FUNCTION carillon.delay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.part = 2 AND nextval('carillon.takes') = 1 THEN PERFORM pg_sleep(1.5); END IF;
                RETURN NEW;
            END $$
            """,
            """
            CREATE TRIGGER delay BEFORE UPDATE ON carillon.leases FOR EACH ROW EXECUTE FUNCTION carillon.delay()
            """)
        let node = try await ClusterMember("a", options, checker)
        await checker.wait(for: [4], of: ["a"])
        let part = try #require(PartitionID(2))
        let loads = node.host.loads.events.filter { $0.part == part }.map(\.epoch)
        // Epoch 1 was never acknowledged.
        #expect(loads.first == PartitionEpoch(2))
        await node.shell.close()
        #expect(checker.violations.isEmpty)
    }

    // MARK: The database

    @Test func `After the promotion of the standby, all partitions are served`() async throws {
        let primary = try await PostgreSQLServer.start()
        let standby = try await primary.standby()
        let options = try PostgreSQLURL.parse(primary.url(with: [standby]))
        try await StoreTables.create(SharedPostgreSQL.settings(options), parts: 16, at: .current())
        let first = try await ClusterMember("a", options, checker)
        let second = try await ClusterMember("b", options, checker)
        await checker.wait(for: [8, 8], of: ["a", "b"])
        try await primary.kill()
        try await standby.promote()
        for member in [first, second] {
            await member.events.wait { $0.contains { if case .newPrimary = $0 { true } else { false } } }
        }
        // A third node gets its share only if the others write to the new primary.
        let third = try await ClusterMember("c", options, checker)
        await checker.wait(for: [5, 5, 6], of: ["a", "b", "c"])
        await ClusterMember.close(first, second, third)
        #expect(checker.violations.isEmpty)
    }

    @Test(arguments: [
        ("UPDATE carillon.store SET incarnation = '\\x01020304050607080910111213141516'", "restored from a backup"),
        ("UPDATE carillon.store SET parts = 8", "the database has 8 partitions"),
        ("UPDATE carillon.store SET version = 99", "version 99"),
    ])
    func `A store that has become another one ends the node with a sentence`(
        change: String, sentence: String
    ) async throws {
        let direct = try await Self.store()
        let (proxy, options) = try await Self.proxy(direct)
        let node = try await ClusterMember("a", options, checker)
        await checker.wait(for: [16], of: ["a"])
        try await Self.change(direct, change)
        proxy.cut()
        let reason = try #require(await node.ends.wait(count: 1).first)
        #expect(reason?.contains(sentence) == true)
        #expect(!node.permit.isValid && checker.changes.events.last == [:])
        #expect(await node.shell.status()?.hasEnded == true)
        await node.shell.close()
        #expect(node.ends.events.count == 1 && checker.violations.isEmpty)
    }

    @Test func `A database without tables is named with the command that makes them`() async throws {
        let node = try await ClusterMember("a", try await SharedPostgreSQL.shared.emptyDatabase(), checker)
        let warnings = await node.warnings.wait(count: 1)
        #expect(warnings[0].contains("has no store; make one with 'carillon store init'"))
        await node.shell.close()
    }

    // MARK: The files

    @Test func `Incarnations survive the process, and the list stays short`() throws {
        let directory = try TemporaryDirectory()
        let file = IncarnationFile(in: directory.path)
        #expect(try file.read() == [])
        let many = (1...100).compactMap { NodeIncarnation($0) }
        try file.write(many)
        #expect(try file.read() == Array(many.suffix(32)))
        _ = try directory.write(IncarnationFile.name, containing: "7\nrubbish\n-3\n99999999999999999999\n8")
        #expect(try file.read() == [NodeIncarnation(7), NodeIncarnation(8)].compactMap(\.self))
        let missing = IncarnationFile(in: directory.path + "/missing")
        #expect(throws: StoreError.self) { try missing.write(many) }
    }

    @Test func `A node whose directory cannot be written warns and serves`() async throws {
        let options = try await Self.store(parts: 4)
        let directory = try TemporaryDirectory()
        // A directory in the place of the draft of the file cannot be opened for writing.
        try await Self.makeDirectory("\(directory.path)/\(IncarnationFile.name).new")
        let node = try await ClusterMember("a", options, checker, in: directory)
        await checker.wait(for: [4], of: ["a"])
        #expect(node.warnings.events.contains { $0.contains("its successor waits") })
        await node.shell.close()
        #expect(checker.violations.isEmpty)
    }

    private static func makeDirectory(_ path: String) async throws {
        _ = try await ChildProcess.run("mkdir", [path])
    }

    // MARK: Clocks

    @Test func `A wrong clock is reported, and one that is a little off is not`() {
        let ahead = ClusterLink.clockWarning(offset: .seconds(-90), roundTrip: .milliseconds(2))
        #expect(ahead?.hasPrefix("the clock of this machine is ahead of that of the database by 90000 ms") == true)
        let behind = ClusterLink.clockWarning(offset: .seconds(3), roundTrip: .milliseconds(2))
        #expect(behind?.contains("is behind that of the database by 3000 ms") == true)
        #expect(ClusterLink.clockWarning(offset: .milliseconds(900), roundTrip: .milliseconds(2)) == nil)
        // The offset is known no better than the round trip.
        #expect(ClusterLink.clockWarning(offset: .seconds(3), roundTrip: .seconds(4)) == nil)
    }
}
