import FoundationEssentials
import PushAdmin
import PushPostgreSQL
import PushStore
import PushTransport
import TestSupport
import Testing

@testable import carillon

/// Tests of the cluster as operators see it: two `carillon serve` processes with a real database.
@Suite(.timeLimit(.minutes(10))) struct ClusterServeTests {
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

        func start(_ name: String) async throws -> Node {
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                "carillon.json5",
                containing: """
                    { data: 'data', http: { listen: '127.0.0.1:0' }, \(ServeScene.anyPorts)
                      store: '\(store)',
                      cluster: { node: '\(name)', listen: 'tcp://127.0.0.1:0', lease: '2s', durability: 'single' },
                      apps: { \(files.app("shop")) } }
                    """)
            return Node(directory: directory, file: file, serve: try await RunningServe(file))
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

    @Test func `The console shows nodes, partitions and a take-over as it happens`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("clustering", "walk", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `A member without partitions is ready, and does not claim that its lease has run out`() async throws {
        let scene = try await Scene(parts: 1)
        let one = try await scene.start("a")
        _ = try await scene.view(one) { $0.partitions.first?.state == .serving }
        let two = try await scene.start("b")
        let view = try await scene.view(two) { $0.isMember && $0.partitions.first?.state == .remote }
        #expect(view.obstacle == nil && view.sendsForMilliseconds > 0 && view.nodes.map(\.partitions) == [1, 0])
        try await two.serve.line("connection.up", "app=shop")
        let ready = try await two.serve.get("/readyz")
        #expect(ready.status == "200", "\(ready.body)")
        #expect(try await two.serve.stop().status == 0)
        #expect(try await one.serve.stop().status == 0)
        try await scene.server.stop()
    }

    @Test func `A producer learns the nodes, and hands messages to the owners of their partitions`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("clustering", "hints", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `A program with CarillonClient loses nothing when one of two nodes is killed`() async throws {
        let scene = try await Scene()
        try await PythonScene.run("clustering", "library", variables: ["CARILLON_STORE=\(scene.store)"])
        try await scene.server.stop()
    }

    @Test func `Two nodes share the partitions, and one takes those of the other when it is killed`() async throws {
        let scene = try await Scene()
        let one = try await scene.start("a")
        let alone = try await scene.view(one) { view in
            view.partitions.count == Self.parts && view.partitions.allSatisfy { $0.state == .serving }
        }
        #expect(alone.node == "a" && alone.isMember && !alone.isDraining && alone.joinedAt != nil)
        #expect(alone.nodes.map(\.node) == ["a"] && alone.nodes[0].state == .live)
        #expect(alone.nodes[0].address.hasPrefix("tcp://127.0.0.1:") && alone.nodes[0].leaseMilliseconds == 2000)
        #expect(alone.summary.takeovers == UInt64(Self.parts) && alone.summary.unowned == 0)
        #expect(alone.events.map(\.event) == [.joined, .takeover])
        #expect(alone.events[1].parts == Array(0..<Self.parts) && alone.events[1].node == nil)
        #expect(alone.database.server?.contains(":\(scene.server.port)") == true && alone.database.timeline == 1)
        #expect(alone.database.version?.isEmpty == false && alone.database.standbys == "")
        #expect(alone.database.fault == nil)

        let two = try await scene.start("b")
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
        #expect(after.events.last?.parts == moved)
        let now = try await one.metrics()
        #expect(now["partitions"] == Double(Self.parts) && now["takeovers_total"] == Double(Self.parts + moved.count))
        let ended = try await one.serve.stop()
        #expect(ended.status == 0, "\(ended.output)")
        try await scene.server.stop()
    }
}
