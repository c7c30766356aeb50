import FoundationEssentials
import PushAPI
import PushPostgreSQL
import PushStore
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of the cluster as operators see it: two `carillon serve` processes with a real database.
@Suite(.waits) struct ClusterServeTests {
    private static let parts = 8

    /// A database, and the nodes that share it.
    private struct Scene {
        let files: ServeScene
        let server: PostgreSQLServer

        init(parts: Int = ClusterServeTests.parts) async throws {
            files = try await ServeScene()
            server = try await PostgreSQLServer.start()
            var settings = PostgreSQLLedger.Settings(
                try PostgreSQLURL.parse(server.url()), resolver: { [$0.name] })
            settings.session.durability = .single
            try await StoreTables.create(settings, parts: parts, at: .current())
        }

        /// The URL of the database.
        var store: String { server.url() }

        /// - Parameter lease: A node that is paused for longer loses its partitions, and after a kill, they have no owner
        ///   for so long.
        func start(_ name: String, lease: String = "60s") async throws -> Node {
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                "carillon.json5",
                containing: """
                    { data: 'data', http: { listen: '127.0.0.1:0' }, \(ServeScene.anyPorts)
                      store: '\(store)',
                      cluster: { node: '\(name)', listen: 'tcp://127.0.0.1:0', lease: '\(lease)', durability: 'single' },
                      apps: { \(files.app("shop")) } }
                    """)
            return Node(name: name, directory: directory, file: file, serve: try await RunningServe(file))
        }

        /// Reads the cluster as one node sees it until the condition holds, and returns it.
        func view(_ node: Node, until condition: (ClusterView) -> Bool) async throws -> ClusterView {
            let watch = try ChildProcess(
                ChildProcess.carillon, ["cluster", "--watch", "--json", "--interval", "100ms", "--config", node.file])
            var found: ClusterView?
            while found == nil, let line = try await watch.line() {
                let view = try JSONDecoder().decode(ClusterAnswer.self, from: Data(line.utf8)).cluster
                if let view, condition(view) { found = view }
            }
            watch.send(15)
            let ended = try await watch.end()
            return try #require(found, "\(ended.errors)")
        }
    }

    private struct Node {
        let name: String
        let directory: TemporaryDirectory
        let file: String
        let serve: RunningServe

        /// Returns the metrics of the cluster by name.
        func metrics() async throws -> [String: Double] {
            var found: [String: Double] = [:]
            for line in try await serve.get("/metrics").body.split(separator: "\n")
            where line.hasPrefix("carillon_cluster_") {
                let words = line.split(separator: " ")
                found[String(words[0].dropFirst("carillon_cluster_".count))] = Double(words[1])
            }
            return found
        }
    }

    private static func loads(_ library: String, _ serve: RunningServe) async throws -> Bool {
        let maps = try await ChildProcess.run("cat", ["/proc/\(serve.process.number)/maps"])
        try #require(maps.status == 0 && maps.output.contains("/libc.so"), "\(maps.errors)")
        return maps.output.contains(library)
    }

    @Test func `Only a node of a cluster loads the client library of PostgreSQL`() async throws {
        let scene = try await Scene(parts: 1)
        let node = try await scene.start("a")
        _ = try await scene.view(node) { $0.partitions.first?.state == .serving }
        let single = try await RunningServe(try scene.files.configure(scene.files.app("shop")))
        try await single.line("connection.up", "app=shop")
        #expect(try await Self.loads("/libpq.so", node.serve))
        #expect(try await !Self.loads("/libpq.so", single))
        #expect(try await single.stop().status == 0)
        #expect(try await node.serve.stop().status == 0)
        try await scene.server.stop()
    }

    @Test(.long) func `The console shows nodes, partitions and a take-over as it happens`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("cluster", "console_pages", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `A member without partitions is ready, and does not claim that its lease has run out`() async throws {
        let scene = try await Scene(parts: 1)
        let one = try await scene.start("a")
        _ = try await scene.view(one) { $0.partitions.first?.state == .serving }
        let two = try await scene.start("b")
        // A node is a member before it has read its own row in the table of nodes.
        let view = try await scene.view(two) { view in
            view.isMember && view.partitions.first?.state == .remote && view.nodes.map(\.partitions) == [1, 0]
        }
        #expect(view.obstacle == nil && view.sendsForMilliseconds > 0)
        try await two.serve.line("connection.up", "app=shop")
        // It must have reached the owner of the partition.
        try await wait(while: try await two.serve.get("/readyz").status != "200")
        #expect(try await two.serve.stop().status == 0)
        #expect(try await one.serve.stop().status == 0)
        try await scene.server.stop()
    }

    @Test func `A node that starts where the last one was killed is not ready while that one owns the partitions`()
        async throws
    {
        let scene = try await Scene(parts: 1)
        let one = try await scene.start("a", lease: "60s")
        _ = try await scene.view(one) { $0.partitions.first?.state == .serving }
        one.serve.process.send(9)
        _ = try await one.serve.process.end()
        let two = try await scene.start("b", lease: "60s")
        _ = try await scene.view(two) { $0.isMember && $0.partitions.first?.state == .remote }
        try await two.serve.line("connection.up", "app=shop")
        let ready = try await two.serve.get("/readyz")
        #expect(ready.status == "503" && ready.body.contains("reaches no node that owns one"), "\(ready.body)")
        #expect(try await two.serve.stop().status == 0)
        try await scene.server.stop()
    }

    @Test func `A producer learns the nodes, and hands messages to the owners of their partitions`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("cluster", "owner_hints", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `The past of the statistics is that of all nodes`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("cluster", "statistics_of_both", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `A program with CarillonClient loses nothing when one of two nodes is killed`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("cluster", "client_library", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `A flood on both nodes sets the brake of both once, and a release on one releases both`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("cluster", "shared_brake", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `The event of a brake is published once, also if nodes are killed between decision and event`()
        async throws
    {
        let scene = try await Scene()
        try await PythonScene.run("cluster", "brake_after_kill", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `A node whose circuit breaker is open shortens that of another`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("cluster", "circuit_breaker", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test(.long)
    func `The owner of each partition delivers its events to webhooks, also after the kill of the last owner`()
        async throws
    {
        let scene = try await Scene()
        try await PythonScene.run("cluster", "webhook_owners", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test(.long) func `A webhook that is paused, disabled or moved on one node is so on all`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("cluster", "webhook_operation", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `After the erasure of a user, the database has the name only in the past of the log`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("cluster", "erased_user", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `What operators do is recorded once, whichever node has carried it out`() async throws {
        let scene = try await Scene(parts: 1)
        try await PythonScene.run("cluster", "operator_events", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `A message to Live Activities on both nodes is found and cancelled from either`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("cluster", "live_activities", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `All members of a family are accepted together, also if the owner is killed`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("cluster", "families", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `A node does not start on a database that lacks its renewals, until a restore is declared`() async throws
    {
        let scene = try await Scene(parts: 1)
        let node = try await scene.start("a")
        _ = try await scene.view(node) { $0.partitions.first?.state == .serving }
        #expect(try await node.serve.stop().status == 0)
        let data = node.directory.path + "/data"
        struct Seen: Codable {
            let v: Int
            let node: String
            let cluster: Int64
            var number: Int64
            let system: UInt64
            let timeline: UInt32
        }
        var seen = try JSONDecoder().decode(Seen.self, from: Data(contentsOf: URL(filePath: data + "/renewal.json")))
        #expect(seen.v == 1 && seen.node == "a" && seen.number > 0)

        // As if the database had been restored from a backup of half an hour ago.
        seen.number += 3000
        _ = try node.directory.write(
            "data/renewal.json", containing: String(decoding: JSONEncoder().encode(seen), as: UTF8.self))
        let refused = try await ChildProcess.run(ChildProcess.carillon, ["serve", "--config", node.file])
        #expect(refused.status == 1, "\(refused.errors)")
        let said = refused.output + refused.errors
        #expect(said.contains("the database has lost commits that it had acknowledged"), "\(said)")
        #expect(said.contains("run 'carillon store restored --yes'"), "\(said)")

        let declared = try await ChildProcess.run(
            ChildProcess.carillon, ["store", "restored", "--yes", "--config", node.file])
        #expect(declared.status == 0, "\(declared.errors)")
        let again = Node(
            name: "a", directory: node.directory, file: node.file, serve: try await RunningServe(node.file))
        _ = try await scene.view(again) { $0.partitions.first?.state == .serving }
        #expect(try await again.serve.stop().status == 0)
        try await scene.server.stop()
    }

    @Test func `Connections are divided over the nodes, and statistics are those of all or of one`() async throws {
        let scene = try await Scene()
        // A node that is stopped below remains a member during its lease.
        let one = try await scene.start("a")
        let two = try await scene.start("b")
        _ = try await scene.view(one) { $0.isMember && $0.nodes.map(\.node) == ["a", "b"] }
        _ = try await scene.view(two) { $0.isMember && $0.nodes.map(\.node) == ["a", "b"] }

        func run<Answer: Decodable>(_ words: String..., on node: Node) async throws -> Answer {
            let line = words + ["--json", "--config", node.file]
            var ended = try await ChildProcess.run(ChildProcess.carillon, line)
            // A node has 2 s to answer the other, and a busy machine may take longer.
            while ended.errors.contains("has not answered within") {
                ended = try await ChildProcess.run(ChildProcess.carillon, line)
            }
            #expect(ended.status == 0, "\(ended.errors)")
            return try JSONDecoder().decode(Answer.self, from: Data(ended.output.utf8))
        }
        /// Waits until the gateway of a node has a range.
        func wait(_ range: ClosedRange<Int>, of node: Node) async throws -> GatewayAnswer {
            while true {
                let gateway: GatewayAnswer = try await run("scale", "shop", "--node", node.name, on: node)
                if gateway.scale == .init(range) { return gateway }
            }
        }

        /// Waits until a node has reached the other, and returns the statistics of both.
        func statistics(_ node: Node) async throws -> StatsAnswer {
            while true {
                let all: StatsAnswer = try await run("stats", on: node)
                if all.nodes?.map(\.fault) == [nil, nil] { return all }
            }
        }
        _ = try await statistics(one)
        _ = try await statistics(two)

        let divided: GatewayAnswer = try await run("scale", "shop", "--connections", "3..7", on: one)
        #expect(divided.node == "a" && divided.scale == .init(2...4) && divided.clusterScale == .init(3...7))
        let other = try await wait(1...3, of: two)
        #expect(other.node == "b" && other.clusterScale == .init(3...7))
        // The call goes to the node, which stores it and answers.
        let alone: GatewayAnswer = try await run("scale", "shop", "--connections", "6", "--node", "b", on: one)
        #expect(alone.node == "b" && alone.scale == .init(6...6))
        // The other node reads it in a moment, and keeps its own part.
        while try await wait(2...4, of: one).clusterScale != .init(8...10) {}
        let seen: GatewayAnswer = try await run("scale", "shop", "--node", "a", on: two)
        #expect(seen.node == "a" && seen.scale == .init(2...4))
        try await one.serve.line("connection.up", "app=shop")
        try await two.serve.line("connection.up", "app=shop")
        let together: GatewayAnswer = try await run("scale", "shop", on: one)
        #expect(together.node == nil && together.scale == .init(8...10) && together.state == "up")
        #expect(together.nodes?.map(\.node) == ["a", "b"] && together.nodes?.map(\.fault) == [nil, nil])
        #expect(together.nodes?.map(\.scale) == [.init(2...4), .init(6...6)])
        #expect(Set(together.connections.map(\.node)) == ["a", "b"])
        let list: GatewayList = try await run("scale", on: two)
        #expect(list.gateways.map(\.app) == ["shop"] && list.gateways[0].nodes?.map(\.node) == ["a", "b"])
        let shown = try await ChildProcess.run(ChildProcess.carillon, ["scale", "shop", "--config", one.file])
        #expect(shown.output.contains("\n  node a: up, 2 to 4 connections, "), "\(shown.output)")
        #expect(shown.output.contains("\n  node  id  "), "\(shown.output)")
        let stranger = try await ChildProcess.run(
            ChildProcess.carillon, ["scale", "shop", "--node", "z", "--config", one.file])
        #expect(stranger.status != 0 && stranger.errors.contains("no node \"z\""), "\(stranger.errors)")

        #expect(try await statistics(one).nodes?.map(\.node) == ["a", "b"])
        let part: StatsAnswer = try await run("stats", "--node", "b", on: one)
        let own: StatsAnswer = try await run("stats", "--node", "b", on: two)
        #expect(part.nodes == nil && part.startedAt == own.startedAt && part.apps.map(\.app) == ["shop"])
        let screen = try await ChildProcess.run(ChildProcess.carillon, ["stats", "--config", one.file])
        #expect(screen.output.contains("nodes: a, b"), "\(screen.output)")

        // A node that does not answer is named, and does not delay the others for long.
        two.serve.process.send(19)
        let missing: StatsAnswer = try await run("stats", on: one)
        #expect(missing.nodes?.map(\.node) == ["a", "b"] && missing.nodes?.last?.fault?.contains("2 s") == true)
        #expect(!missing.ready && missing.obstacles.contains { $0.contains("the numbers of node b are missing") })
        let rest: GatewayAnswer = try await run("scale", "shop", on: one)
        #expect(rest.nodes?.map(\.node) == ["a", "b"] && rest.nodes?.last?.fault?.contains("2 s") == true)
        #expect(rest.scale == .init(2...4) && Set(rest.connections.map(\.node)) == ["a"])
        let gone = try await ChildProcess.run(
            ChildProcess.carillon, ["stats", "--json", "--node", "b", "--config", one.file])
        #expect(gone.status != 0 && gone.errors.contains("node b has not answered"), "\(gone.errors)")
        two.serve.process.send(18)
        _ = try await two.serve.stop()

        // What operators have set survives a restart, as long as the configuration has the same range.
        _ = try await one.serve.stop()
        let again = try await RunningServe(one.file)
        // One copy of the data is said at each start.
        for serve in [one.serve, again] {
            #expect(serve.hasSaid("acknowledged messages are lost with the disk of the database"))
        }
        #expect(try await again.gateway().scale == .init(3...7))
        #expect(try await again.stop().status == 0)
        try await scene.server.stop()
    }

    @Test func `Two nodes share the partitions, and one takes those of the other when it is killed`() async throws {
        let scene = try await Scene()
        let one = try await scene.start("a", lease: "30s")
        let alone = try await scene.view(one) { view in
            view.partitions.count == Self.parts && view.partitions.allSatisfy { $0.state == .serving }
        }
        #expect(alone.node == "a" && alone.isMember && !alone.isDraining && alone.joinedAt != nil)
        #expect(alone.nodes.map(\.node) == ["a"] && alone.nodes[0].state == .live)
        #expect(alone.nodes[0].address.hasPrefix("tcp://127.0.0.1:") && alone.nodes[0].leaseMilliseconds == 30_000)
        #expect(alone.summary.takeovers == UInt64(Self.parts) && alone.summary.unowned == 0)
        #expect(alone.events.map(\.event) == [.joined, .takeover])
        #expect(alone.events[1].parts == Array(0..<Self.parts) && alone.events[1].node == nil)
        #expect(alone.database.server?.contains(":\(scene.server.port)") == true && alone.database.timeline == 1)
        #expect(alone.database.version?.isEmpty == false && alone.database.standbys == "")
        #expect(alone.database.fault == nil)

        let two = try await scene.start("b", lease: "30s")
        let shared = try await scene.view(two) { view in
            view.nodes.map(\.partitions) == [Self.parts / 2, Self.parts / 2]
                && view.partitions.allSatisfy { $0.state == ($0.owner == "b" ? .serving : .remote) }
        }
        #expect(shared.nodes.map(\.node) == ["a", "b"] && shared.summary.takeovers == 0)
        #expect(shared.partitions.allSatisfy { $0.since != nil && $0.epoch > 0 })
        let moved = shared.partitions.filter { $0.owner == "b" }.map(\.part)
        let given = try await scene.view(one) { $0.events.last?.event == .handover && $0.events.last?.parts == moved }
        #expect(given.events.last?.node == "b")
        let screen = try await ChildProcess.run(ChildProcess.carillon, ["cluster", "--config", two.file])
        #expect(screen.output.contains("Node b, member, "))
        #expect(screen.output.contains("\n  b  \(PartRanges.text(moved))\n"), "\(screen.output)")
        let known = try await scene.view(one) { $0.nodes.allSatisfy { $0.router != nil && $0.http != nil } }
        #expect(known.nodes.map(\.router) == [one.serve.served.router, two.serve.served.router])
        #expect(known.nodes.map(\.http) == [one.serve.served.http, two.serve.served.http])
        let before = try await two.metrics()
        #expect(before["member"] == 1 && before["partitions"] == Double(moved.count))
        #expect(before["partitions_unowned"] == 0 && before["takeovers_total"] == 0 && before["fenced_total"] == 0)
        #expect((before["renewal_age_seconds"] ?? -1) >= 0)

        two.serve.process.send(9)
        _ = try await two.serve.process.end()
        let after = try await scene.view(one) { view in view.partitions.allSatisfy { $0.state == .serving } }
        #expect(after.nodes.map(\.state) == [.live, .dead] && after.nodes.map(\.partitions) == [Self.parts, 0])
        #expect(after.events.suffix(2).map(\.event) == [.dead, .takeover] && after.events.last?.node == "b")
        // If the answer to a take-over is late, the node reads the partition as its own, which is no take-over.
        let taken = after.events.last?.parts ?? []
        #expect(!taken.isEmpty && Set(taken).isSubset(of: moved), "\(taken) of \(moved)")
        let now = try await one.metrics()
        #expect(now["partitions"] == Double(Self.parts) && now["takeovers_total"] == Double(Self.parts + taken.count))
        let ended = try await one.serve.stop()
        #expect(ended.status == 0, "\(ended.output)")
        try await scene.server.stop()
    }
}
