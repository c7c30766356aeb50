import PushModel
import PushPostgreSQL
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// What nodes share about their apps, over a real database.
@Suite(.waits) struct SharedAppsTests {
    private static let shop = AppID("shop")!

    /// A node that records what it reads.
    private struct Node {
        let node: LedgerNode
        let read = EventRecorder<SharedApps>()

        init(_ name: String, _ options: PostgreSQLOptions) async throws {
            node = try await LedgerNode(options) { [read] settings in
                settings.node = name
                settings.sharedRead = { read.record($0) }
            }
        }

        func decide(isOn: Bool, generation: Int64) async -> BrakeVerdict {
            await withCheckedContinuation { continuation in
                node.ledger.decide(
                    BrakeDecision(shop, isOn: isOn, generation: generation, candidates: 1, answers: 1)
                ) { continuation.resume(returning: $0) }
            }
        }

        func waitForMark(_ mark: SharedBrake) async { _ = await read.wait { $0.last?.brakes[shop] == mark } }
    }

    @Test func `Of two nodes that set a brake, one has set it, and both see it`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 2, at: .current())
        let (a, b) = (try await Node("a", options), try await Node("b", options))
        async let one = a.decide(isOn: true, generation: 0)
        async let other = b.decide(isOn: true, generation: 0)
        let verdicts = await [one, other]
        #expect(verdicts.filter { $0 == .stored }.count == 1 && verdicts.filter { $0 == .overtaken }.count == 1)
        let first = verdicts[0] == .stored
        await a.waitForMark(SharedBrake(generation: 0, isOn: true, isOwn: first))
        await b.waitForMark(SharedBrake(generation: 0, isOn: true, isOwn: !first))
        // A release of another generation comes too late, and a second one finds the brake released.
        #expect(await b.decide(isOn: false, generation: 7) == .overtaken)
        #expect(await b.decide(isOn: false, generation: 0) == .stored)
        #expect(await a.decide(isOn: false, generation: 0) == .overtaken)
        #expect(await a.decide(isOn: true, generation: 0) == .overtaken)
        await a.waitForMark(SharedBrake(generation: 1, isOn: false, isOwn: false))
        #expect(await a.decide(isOn: true, generation: 1) == .stored)
        await a.node.ledger.close()
        await b.node.ledger.close()
        // The brake is on after a restart of all nodes.
        let again = try await Node("c", options)
        await again.waitForMark(SharedBrake(generation: 1, isOn: true, isOwn: false))
        await again.node.ledger.close()
    }

    @Test func `The event of a brake survives the node that decided, and is published once`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 2, at: .current())
        let test = try await TestSessions.one(to: options.database)
        let rows = "SELECT count(*) FROM carillon.app_marks WHERE kind = 'brake-event'"
        let (a, b) = (try await Node("a", options), try await Node("b", options))
        // The node that decides owns no part, so that nothing is published yet, and it ends.
        #expect(await a.decide(isOn: true, generation: 0) == .stored)
        #expect(await a.decide(isOn: false, generation: 0) == .stored)
        #expect(try await test.count(rows) == 2)
        await a.node.ledger.close()
        try await b.node.open(1, epoch: try await test.raise(1))
        await b.waitForMark(SharedBrake(generation: 1, isOn: false, isOwn: false))
        #expect(try await test.count(rows) == 2)
        #expect(try await b.node.events(of: 1).isEmpty)

        // The owner of part 0 publishes both, in their order.
        try await b.node.open(0, epoch: try await test.raise(0))
        _ = await b.node.listener.heard.wait { $0.contains(.committed(part: 0, first: 1)) }
        #expect(try await Self.states(b) == ["on", "off"])
        #expect(try await test.count(rows) == 0)

        // A flush that another owner overtakes publishes nothing, and the new owner does.
        let c = try await Node("c", options)
        let epoch = try await test.raise(0)
        #expect(await b.decide(isOn: true, generation: 1) == .stored)
        _ = await b.node.lost.wait { !$0.isEmpty }
        #expect(try await test.count(rows) == 1)
        try await c.node.open(0, epoch: epoch)
        _ = await c.node.listener.heard.wait { $0.contains(.committed(part: 0, first: 3)) }
        #expect(try await Self.states(c) == ["on", "off", "on"])
        #expect(try await test.count(rows) == 0)

        // Readings after that find nothing to publish.
        let count = c.read.events.count
        _ = await c.read.wait { $0.count >= count + 2 }
        #expect(try await Self.states(c) == ["on", "off", "on"])
        await b.node.ledger.close()
        await c.node.ledger.close()
        await test.close()
    }

    private static func states(_ node: Node) async throws -> [String] {
        try await node.node.events(of: 0).map { $0.details?.contains("\"state\":\"on\"") == true ? "on" : "off" }
    }

    @Test func `Reports arrive at other nodes once each, and the last of many is the one that stays`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 2, at: .current())
        let (a, b) = (try await Node("a", options), try await Node("b", options))
        _ = await b.read.wait { !$0.isEmpty }
        let trouble = GatewayTrouble(Self.shop, kind: .refused, connection: 7)
        a.node.ledger.publish([trouble])
        for answers in 1...50 as ClosedRange<UInt64> {
            a.node.ledger.publish([BrakeCounts(Self.shop, generation: 0, answers: answers, misdirected: 3)])
        }
        let last = NodeReport(
            brakes: [BrakeCounts(Self.shop, generation: 0, answers: 50, misdirected: 3)], troubles: [trouble])
        let seen = await b.read.wait { $0.contains { $0.reports.contains { $0.report == last } } }
        let reports = seen.flatMap(\.reports)
        #expect(reports.allSatisfy { $0.node == "a" })
        #expect(reports.map(\.number) == Array(Set(reports.map(\.number))).sorted())
        // A reading without news has no reports, and a node does not read its own.
        let count = seen.count
        let later = await b.read.wait { $0.count >= count + 2 }
        #expect(later.suffix(2).allSatisfy { $0.reports.isEmpty })
        #expect(a.read.events.allSatisfy { $0.reports.isEmpty })
        // Without trouble, one more report says so.
        a.node.ledger.publish([GatewayTrouble]())
        _ = await b.read.wait { $0.contains { $0.reports.contains { $0.report == NodeReport(brakes: last.brakes) } } }
        await a.node.ledger.close()
        await b.node.ledger.close()
    }

    @Test func `A report of another version is like an empty one`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 1, at: .current())
        let a = try await Node("a", options)
        _ = try await SharedPostgreSQL.shared.server().execute(
            "\\connect \(options.database)",
            "INSERT INTO carillon.reports VALUES ('z', 1, 1, '\\xff00'), ('y', 2, 5, '\\x010000')")
        let read = await a.read.wait { $0.contains { $0.reports.count == 2 } }
        let reports = read.flatMap(\.reports)
        #expect(Set(reports.map(\.node)) == ["y", "z"] && reports.allSatisfy { $0.report == NodeReport() })
        await a.node.ledger.close()
    }

    @Test func `A number of connections for all nodes replaces those of single ones, and stays`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 1, at: .current())
        let (a, b) = (try await Node("a", options), try await Node("b", options))
        let one = SharedScale(Self.shop, node: NodeID("b"), connections: 3...3, configured: 1...4)
        let all = SharedScale(Self.shop, node: nil, connections: 4...12, configured: 1...4)
        #expect(await a.node.ledger.scale(one) == nil)
        _ = await b.read.wait { $0.last?.scales == [one] }
        #expect(await b.node.ledger.scale(all) == nil)
        _ = await a.read.wait { $0.last?.scales == [all] }
        await a.node.ledger.close()
        await b.node.ledger.close()
        let again = try await Node("a", options)
        #expect(again.node.ledger.scalesAtOpen == [all])
        again.node.ledger.removeScales(of: Self.shop)
        _ = await again.read.wait { $0.last?.scales.isEmpty == true }
        await again.node.ledger.close()
    }

    @Test func `What a node holds stands for all parts`() {
        var some = AppBacklog()
        (some.waiting, some.scheduled) = (30, 7)
        let whole = some.projected(from: 3, to: 64)
        #expect(whole.waiting == 640 && whole.scheduled == 149)
        #expect(some.projected(from: 0, to: 64) == some && some.projected(from: 64, to: 64) == some)
    }
}
