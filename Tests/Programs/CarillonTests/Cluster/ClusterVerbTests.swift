import Glibc
import PushAPI
import PushTime
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon cluster` as a process, with a control server in the test process.
@Suite(.waits) struct ClusterVerbTests {
    private struct Source: ClusterSource {
        let view: ClusterView?

        func cluster() async -> ClusterView? { view }
    }

    private static let now: WallTime = 1_767_225_600_000

    /// Node `a` has taken most partitions of `b`, and one of `c` has no owner.
    static var view: ClusterView {
        var view = ClusterView(at: now, node: "a")
        (view.isMember, view.joinedAt) = (true, now - 60_000)
        (view.renewalAgeMilliseconds, view.sendsForMilliseconds) = (312, 3688)
        view.nodes = [
            .init(
                "a", state: .live, address: "tcp://10.0.0.1:5580", partitions: 4, lease: .seconds(5),
                remaining: .milliseconds(4688), version: "0.1.0", startedAt: now - 7_384_000),
            .init(
                "b\u{1b}[31m", state: .draining, address: "tcp://10.0.0.2:5580", partitions: 2, lease: .seconds(5),
                remaining: .milliseconds(900), version: "0.1.0", startedAt: now),
            .init(
                "c", state: .dead, address: "tcp://10.0.0.3:5580", partitions: 1, lease: .seconds(5),
                remaining: .seconds(-9), version: "0.1.0", startedAt: now),
        ]
        view.partitions = (0..<4).map {
            .init($0 == 3 ? 7 : $0, owner: "a", epoch: 3, since: now, state: $0 == 3 ? .loading : .serving)
        }
        view.partitions += (3..<5).map { .init($0, owner: "b\u{1b}[31m", epoch: 1, since: now, state: .remote) }
        view.partitions.append(.init(5, owner: "c", epoch: 2, since: now, state: .unowned))
        (view.summary.partitions, view.summary.unowned, view.summary.takeovers) = (7, 1, 4)
        view.database.server = "db1:5432"
        view.database.version = "15.18"
        view.database.timeline = 3
        view.database.standbys = "FIRST 1 (s1)"
        view.events = [
            .init(.joined, at: now - 60_000, text: "this node joined the cluster"),
            .init(
                .takeover, at: now - 50_000, node: "b", parts: [0, 1, 2, 7], text: "this node took partitions of b"),
        ]
        return view
    }

    private func withCluster(_ view: ClusterView?, body: (String) async throws -> Void) async throws {
        try await withControl(more: { _ in [AnyEndpoint(GetCluster(source: Source(view: view)))] }) {
            try await body($0.data)
        }
    }

    private func run(_ arguments: String...) async throws -> ChildProcess.Ended {
        try await ChildProcess.run(ChildProcess.carillon, ["cluster"] + arguments)
    }

    @Test func `Nodes, partitions as ranges, the database and the last changes are shown`() async throws {
        try await withCluster(Self.view) { data in
            let ended = try await run("--data", data)
            #expect(
                ended.output == """
                    Node a, member, 2026-01-01T00:00:00.000Z

                      node    state     parts  lease   left    version  up     address
                      a       live      4      5000ms  4688ms  0.1.0    2h 3m  tcp://10.0.0.1:5580
                      b?[31m  draining  2      5000ms  900ms   0.1.0    0s     tcp://10.0.0.2:5580
                      c       dead      1      5000ms  -       0.1.0    -      tcp://10.0.0.3:5580

                      a             0-2, 7
                      b?[31m        3-4
                      no owner      5
                      loading here  7

                      renewal     312ms ago, sends for 3688ms more
                      partitions  7, 1 without owner; since its start, this node took 4 and lost 0
                      database    db1:5432, PostgreSQL 15.18, timeline 3, standbys FIRST 1 (s1)

                      2025-12-31T23:59:00.000Z  this node joined the cluster
                      2025-12-31T23:59:10.000Z  this node took partitions of b: 0-2, 7

                    """, "\(ended.output)")
            #expect(ended.errors == "" && ended.status == 0)
        }
    }

    @Test func `A node without a database shows why`() async throws {
        var view = ClusterView(at: Self.now, node: "a")
        view.obstacle = "this node has not joined its cluster yet: the database has not answered"
        view.database.fault = "connection refused\u{1b}[31m"
        try await withCluster(view) { data in
            let ended = try await run("--data", data)
            #expect(
                ended.output == """
                    Node a, not a member, 2026-01-01T00:00:00.000Z
                      this node has not joined its cluster yet: the database has not answered

                      The table of nodes has not been read yet.

                      renewal     never, sends for 0.0ms more
                      partitions  0, 0 without owner; since its start, this node took 0 and lost 0
                      fault       connection refused?[31m

                    """, "\(ended.output)")
            #expect(ended.status == 0)
        }
    }

    @Test func `A single node is not an error`() async throws {
        try await withCluster(nil) { data in
            let ended = try await run("--data", data)
            #expect(ended.output == "This Carillon is a single node: its configuration has no cluster.\n")
            #expect(ended.status == 0)
            #expect(try await run("--json", "--data", data).output == "{}\n")
        }
    }

    @Test func `The option --watch prints screens or lines of JSON until Ctrl-C`() async throws {
        try await withCluster(Self.view) { data in
            for (more, start) in [([], "Node a, member"), (["--json"], "{\"cluster\":{")] {
                let child = try ChildProcess(
                    ChildProcess.carillon, ["cluster", "--watch", "--interval", "100ms", "--data", data] + more)
                var screens = 0
                while screens < 3, let line = try await child.line() {
                    #expect(!line.contains("\u{1b}"))
                    if line.hasPrefix(start) { screens += 1 }
                }
                child.send(SIGINT)
                #expect(try await child.end().status == 0 && screens == 3)
            }
        }
    }

    @Test func `The help fits 80 columns and has examples`() async throws {
        let help = try await run("--help").output
        #expect(help.contains("carillon cluster --watch") && help.contains("--json"))
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test(arguments: [
        ([], "-"), ([4], "4"), ([0, 1, 2, 5], "0-2, 5"), ([5, 2, 1, 0, 1], "0-2, 5"), ([1, 3, 4], "1, 3-4"),
    ]) func `Partitions are shown as ranges`(_ parts: [Int], _ text: String) {
        #expect(PartRanges.text(parts) == text)
    }
}
