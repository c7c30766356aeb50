import PushModel
import PushPostgreSQL
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// Databases that have lost what they had acknowledged, and standbys that have not.
@Suite(.waits) struct RestoredDatabaseTests {
    private let checker = ServingChecker()

    /// A primary with a synchronous standby, and a store in it.
    private static func pair() async throws -> (PostgreSQLServer, PostgreSQLServer) {
        let primary = try await PostgreSQLServer.start()
        let standby = try await primary.standby()
        try await StoreTables.create(
            SharedPostgreSQL.settings(try PostgreSQLURL.parse(primary.url())), parts: 16, at: .current())
        return (primary, standby)
    }

    private func member(
        of server: PostgreSQLServer, in directory: TemporaryDirectory, seen: SeenRenewal? = nil
    ) async throws -> ClusterMember {
        try await ClusterMember(
            "a", try PostgreSQLURL.parse(server.url()), checker, in: directory, seen: seen, durability: .replicated)
    }

    private static func copy(_ from: String, to: String) async throws {
        let removed = try await ChildProcess.run("rm", ["-rf", to])
        let copied = try await ChildProcess.run("cp", ["-a", from, to])
        try #require(removed.status == 0 && copied.status == 0, "\(copied.errors)")
    }

    @Test func `A copy of the directory of the database ends the node, until a restore is declared`() async throws {
        let (primary, standby) = try await Self.pair()
        let directory = try TemporaryDirectory()
        let first = try await member(of: primary, in: directory)
        let before = try #require(await first.acknowledged.wait(count: 2).last)
        await first.kill()
        try await primary.stop()
        let copy = primary.data + ".copy"
        try await Self.copy(primary.data, to: copy)
        try await primary.launch()
        let second = try await member(of: primary, in: directory, seen: before)
        let seen = try #require(await second.acknowledged.wait(count: 2).last)
        #expect(seen.number > before.number && seen.cluster == before.cluster)
        await checker.wait(for: [16], of: ["a"])
        await second.kill()

        try await primary.stop()
        try await Self.copy(copy, to: primary.data)
        try await primary.launch()
        let third = try await member(of: primary, in: directory, seen: seen)
        let reason = try #require(await third.ends.wait(count: 1).first ?? nil)
        #expect(reason.contains("of \(seen.number) that were acknowledged. It was restored from a backup"), "\(reason)")
        #expect(reason.contains("run 'carillon store restored --yes'"), "\(reason)")
        #expect(third.acknowledged.events.isEmpty)
        await third.shell.close()

        // The standby belongs to the lost database. Commits would wait for it.
        try await standby.kill()
        let next = try await primary.standby(named: "next")
        let access = StoreAccess(
            try PostgreSQLURL.parse(primary.url()), durability: .replicated, resolver: { [$0.name] })
        _ = try await StoreSetup(access).declareRestored()
        let fourth = try await member(of: primary, in: directory, seen: seen)
        await checker.wait(for: [16], of: ["a"])
        await ClusterMember.close(fourth)
        #expect(fourth.ends.events == [nil] && checker.violations.isEmpty)
        try await next.kill()
        try await primary.kill()
    }

    @Test func `A synchronous standby that was promoted has all renewals`() async throws {
        var (primary, standby) = try await Self.pair()
        let directory = try TemporaryDirectory()
        var seen: SeenRenewal?
        for round in 0..<4 {
            let node = try await member(of: primary, in: directory, seen: seen)
            // The primary is lost at once after an answer to a renewal.
            let renewals = await node.acknowledged.wait(count: 3)
            try await primary.kill()
            await node.kill()
            let last = try #require(node.acknowledged.events.last)
            #expect(renewals.map(\.number) == renewals.map(\.number).sorted())
            #expect(last.number > seen?.number ?? 0 && node.ends.events.isEmpty)
            seen = last
            try await standby.promote()
            primary = standby
            standby = try await primary.standby(named: "standby\(round)")
        }
        let node = try await member(of: primary, in: directory, seen: seen)
        _ = await node.acknowledged.wait(count: 1)
        await checker.wait(for: [16], of: ["a"])
        await ClusterMember.close(node)
        #expect(node.ends.events == [nil] && checker.violations.isEmpty)
        try await standby.kill()
        try await primary.kill()
    }

    @Test func `Without a synchronous standby, the loss of a moment is a warning`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 16, at: .current())
        let first = try await ClusterMember("a", options, checker)
        let seen = try #require(await first.acknowledged.wait(count: 1).last)
        await first.kill()
        func renewal(_ more: Int64, node: String = "a", cluster: Int64 = seen.cluster) -> SeenRenewal {
            SeenRenewal(
                seen.number + more, node: NodeID(node)!, cluster: cluster, system: seen.system, timeline: seen.timeline)
        }
        // The file of another node, and one of another incarnation, say nothing about this one.
        for (known, isWarned) in [
            (renewal(20), true), (renewal(1000, node: "b"), false), (renewal(1000, cluster: seen.cluster &+ 1), false),
        ] {
            let next = try await ClusterMember("a", options, checker, in: first.directory, seen: known)
            _ = await next.acknowledged.wait(count: 1)
            #expect(next.warnings.events.contains { $0.contains("may be lost") } == isWarned)
            #expect(next.ends.events.isEmpty)
            await next.kill()
        }
        let last = try await ClusterMember("a", options, checker, in: first.directory, seen: renewal(1000))
        #expect(await last.ends.wait(count: 1).first??.contains("It was restored from a backup") == true)
        await last.shell.close()
    }

    @Test func `A primary that was replaced and has not noticed does not end a node`() async throws {
        let (primary, standby) = try await Self.pair()
        let directory = try TemporaryDirectory()
        let first = try await member(of: primary, in: directory)
        _ = await first.acknowledged.wait(count: 1)
        await first.kill()
        try await primary.kill()
        try await standby.promote()
        let other = try await standby.standby(named: "other")
        let second = try await member(of: standby, in: directory, seen: first.acknowledged.events.last)
        let seen = try #require(await second.acknowledged.wait(count: 2).last)
        #expect(seen.timeline == 2)
        await second.kill()

        // The old primary is back, and the new one is away for the moment.
        try await primary.launch()
        try await standby.stop()
        let options = try PostgreSQLURL.parse(primary.url(with: [standby]))
        let third = try await ClusterMember("a", options, checker, in: directory, seen: seen, durability: .replicated)
        _ = await third.warnings.wait { $0.contains { $0.contains("a primary that was replaced") } }
        #expect(third.ends.events.isEmpty && third.acknowledged.events.isEmpty)
        try await primary.kill()
        try await standby.launch()
        _ = await third.acknowledged.wait(count: 1)
        #expect(third.ends.events.isEmpty)
        await ClusterMember.close(third)
        for server in [standby, other] { try await server.kill() }
    }

    @Test(
        arguments: [
            (9, "a", 5, 7, 2, SeenRenewal.Verdict.restored), (9, "a", 5, 7, 3, .restored), (9, "a", 5, 8, 1, .restored),
            (9, "a", 5, 7, 1, .replaced), (10, "a", 5, 7, 1, nil), (11, "a", 5, 8, 1, nil), (9, "b", 5, 7, 2, nil),
            (9, "a", 6, 7, 2, nil),
        ] as [(Int64, String, Int64, UInt64, UInt32, SeenRenewal.Verdict?)])
    func `A smaller number says that the database was restored, unless its timeline is an earlier one`(
        number: Int64, node: String, cluster: Int64, system: UInt64, timeline: UInt32, verdict: SeenRenewal.Verdict?
    ) throws {
        let seen = SeenRenewal(10, node: NodeID("a")!, cluster: 5, system: 7, timeline: 2)
        let id = try #require(NodeID(node))
        #expect(seen.verdict(on: number, of: id, cluster: cluster, system: system, timeline: timeline) == verdict)
    }
}
