import PushLogic
import PushModel
import PushPostgreSQL
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// Nodes with real tables, and the partitions that they serve.
@Suite(.waits) struct ClusterShellTests {
    private let checker = ServingChecker()
    /// A lease that no pause of this machine ends.
    private static let long = Duration.seconds(30)

    private static func store(parts: Int = 16) async throws -> PostgreSQLOptions {
        try await SharedPostgreSQL.shared.store(parts: parts, at: .current())
    }

    private static func query(_ sql: String, _ options: PostgreSQLOptions) async throws -> String {
        try await SharedPostgreSQL.shared.server().execute("\\connect \(options.database)", sql)
    }

    @Test func `One node takes all partitions, and its row says that it left`() async throws {
        let options = try await Self.store()
        let node = try await ClusterMember("a", options, checker, lease: Self.long)
        await checker.wait(for: [16], of: ["a"])
        #expect(node.permit.isValid)
        let status = try #require(await node.shell.status())
        #expect(status.isMember && !status.hasEnded)
        #expect(status.partitions.map(\.part.number) == Array(0..<16))
        #expect(status.database?.partitions == 16)
        #expect(status.server != nil && status.fault == nil)
        #expect(node.shell.owners.owners == Array(repeating: .this, count: 16))
        #expect(try await Self.query("SELECT state, version FROM carillon.nodes", options) == "live|test")
        await node.shell.close()
        #expect(!node.permit.isValid)
        #expect(node.ends.events == [nil])
        #expect(try await Self.query("SELECT state FROM carillon.nodes", options) == "left")
        #expect(checker.changes.events.last == [:])
        #expect(checker.violations.isEmpty)
    }

    @Test func `Three nodes have a third each, and know each other's partitions`() async throws {
        let options = try await Self.store()
        let names = ["a", "b", "c"]
        var members: [ClusterMember] = []
        for name in names { members.append(try await ClusterMember(name, options, checker, lease: Self.long)) }
        await checker.wait(for: [5, 5, 6], of: names)
        let owners = try #require(checker.changes.events.last)
        for member in members {
            let expected = try (0..<16).map { number -> OwnerTable.Owner in
                let part = try #require(PartitionID(number))
                let name = try #require(owners[part])
                if name == member.name { return .this }
                let id = try #require(NodeID(name))
                return .other(id, NodeContact(address: "tcp://\(name):1", publicKey: "key of \(name)"))
            }
            await member.tables.wait { $0.last?.owners == expected }
            #expect(member.shell.owners.owners == expected)
        }
        for member in members { await member.shell.close() }
        #expect(checker.violations.isEmpty)
    }

    @Test func `A node that drains hands all partitions over before it leaves`() async throws {
        let options = try await Self.store()
        let first = try await ClusterMember("a", options, checker, lease: Self.long)
        await checker.wait(for: [16], of: ["a"])
        let second = try await ClusterMember("b", options, checker, lease: Self.long)
        await checker.wait(for: [8, 8], of: ["a", "b"])
        #expect(await first.shell.drain())
        await checker.wait(for: [16], of: ["b"])
        #expect(first.ends.events == [nil])
        let handovers = first.events.events.count { if case .handover = $0 { true } else { false } }
        #expect(handovers == 16)
        await ClusterMember.close(first, second)
        #expect(checker.violations.isEmpty)
    }

    @Test func `The last node that drains gives its partitions up, and the next one takes them`() async throws {
        let options = try await Self.store(parts: 4)
        let first = try await ClusterMember("a", options, checker, lease: Self.long)
        await checker.wait(for: [4], of: ["a"])
        #expect(await first.shell.drain())
        #expect(checker.changes.events.last == [:])
        let second = try await ClusterMember("b", options, checker)
        await checker.wait(for: [4], of: ["b"])
        await ClusterMember.close(first, second)
        #expect(checker.violations.isEmpty)
    }

    @Test func `The partitions of a killed node are served by the others`() async throws {
        let options = try await Self.store()
        let first = try await ClusterMember("a", options, checker)
        let second = try await ClusterMember("b", options, checker)
        let third = try await ClusterMember("c", options, checker)
        await checker.wait(for: [5, 5, 6], of: ["a", "b", "c"])
        await first.kill()
        await checker.wait(for: [8, 8], of: ["b", "c"])
        #expect(try await Self.query("SELECT state FROM carillon.nodes WHERE id = 'a'", options) == "dead")
        await ClusterMember.close(second, third)
        #expect(checker.violations.isEmpty)
    }

    @Test func `A node that restarts in its directory has its partitions at once`() async throws {
        let options = try await Self.store()
        let first = try await ClusterMember("a", options, checker, lease: .seconds(30))
        await checker.wait(for: [16], of: ["a"])
        await first.kill()
        let second = try await ClusterMember("a", options, checker, lease: .seconds(30), in: first.directory)
        await checker.wait(for: [16], of: ["a"])
        #expect(Set(second.host.loads.events.map(\.epoch)) == [PartitionEpoch(2)])
        // Without the directory, it would have waited for the end of the lease.
        #expect(!second.events.events.contains { if case .nameInUse = $0 { true } else { false } })
        await second.shell.close()
        #expect(checker.violations.isEmpty)
    }

    @Test func `A second process of the same name waits until the first has ended`() async throws {
        let options = try await Self.store()
        let first = try await ClusterMember("a", options, checker)
        await checker.wait(for: [16], of: ["a"])
        let second = try await ClusterMember("a", options, checker)
        await second.events.wait { $0.contains { if case .nameInUse = $0 { true } else { false } } }
        #expect(second.host.loads.events.isEmpty && !second.permit.isValid)
        await first.kill()
        await second.host.loads.wait(count: 16)
        await checker.wait(for: [16], of: ["a"])
        await second.shell.close()
        #expect(checker.violations.isEmpty)
    }

    @Test func `A partition whose write was rejected is taken again at a new epoch`() async throws {
        let options = try await Self.store(parts: 4)
        // The first epoch is 1. The next snapshot comes after a long time, so that the news of the ledger is needed.
        let node = try await ClusterMember("a", options, checker, lease: .seconds(30))
        await checker.wait(for: [4], of: ["a"])
        _ = try await Self.query("UPDATE carillon.leases SET epoch = 7 WHERE part = 2", options)
        let part = try #require(PartitionID(2))
        node.shell.fenced(part, epoch: PartitionEpoch(1))
        await node.host.loads.wait { $0.contains(.init(part: part, epoch: PartitionEpoch(8))) }
        await checker.wait(for: [4], of: ["a"])
        #expect(node.events.events.contains(.fenced(part, PartitionEpoch(1))))
        await node.shell.close()
        #expect(checker.violations.isEmpty)
    }
}
