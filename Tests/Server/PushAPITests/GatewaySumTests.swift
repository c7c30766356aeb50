import FoundationEssentials
import PushAPI
import PushModel
import Testing

@Suite struct GatewaySumTests {
    private static let (a, b, c) = (NodeID("a")!, NodeID("b")!, NodeID("c")!)

    /// The gateway of one node, as it answers the others.
    private static func gateway(
        _ app: String = "shop", state: String = "up", scale: ClosedRange<Int> = 1...4, queue: Int = 0
    ) -> GatewayAnswer {
        var answer = GatewayAnswer(
            app: app, environment: "production", state: state, scale: .init(scale), queue: queue, credit: 100,
            connections: [.init(id: 1, state: "open", ageMilliseconds: 5, inFlight: queue, waiting: 0, answered: 9)])
        (answer.node, answer.clusterScale) = ("x", .init(3...12))
        return answer
    }

    @Test func `The connections of all nodes are listed with their nodes, and numbers are added up`() throws {
        let sum = try #require(
            GatewayAnswer.sum([
                (Self.b, .success(Self.gateway(scale: 2...8, queue: 5))), (Self.a, .success(Self.gateway(queue: 2))),
            ]))
        #expect(sum.app == "shop" && sum.state == "up" && sum.scale == .init(3...12))
        #expect(sum.queue == 7 && sum.credit == 200 && sum.node == nil && sum.clusterScale == nil)
        #expect(sum.connections.map(\.node) == ["a", "b"] && sum.connections.map(\.inFlight) == [2, 5])
        #expect(sum.nodes?.map(\.node) == ["a", "b"] && sum.nodes?.map(\.queue) == [2, 5])
        #expect(sum.nodes?.map(\.scale) == [.init(1...4), .init(2...8)] && sum.nodes?.map(\.fault) == [nil, nil])
    }

    @Test func `A node without an answer is named`() throws {
        let sum = try #require(
            GatewayAnswer.sum([
                (Self.a, .success(Self.gateway())), (Self.b, .failure(LedgerFault("node b has not answered"))),
            ]))
        #expect(sum.nodes?.map(\.node) == ["a", "b"] && sum.nodes?.map(\.fault) == [nil, "node b has not answered"])
        #expect(sum.state == "up" && sum.scale == .init(1...4) && sum.connections.map(\.node) == ["a"])
    }

    @Test func `A state that is not up is shown before one that is`() throws {
        func state(_ states: String...) -> String? {
            GatewayAnswer.sum(zip([Self.a, Self.b, Self.c], states).map { ($0, .success(Self.gateway(state: $1))) })?
                .state
        }
        #expect(state("up", "halted: x", "up") == "on node b: halted: x")
        #expect(state("connecting", "up") == "on node a: connecting")
        #expect(state("connecting", "connecting") == "connecting")
        #expect(state("halted: x", "connecting") == "halted: x")
    }

    @Test func `An app that a node does not know yet is that of the others, and one that none knows is nil`() {
        let sum = GatewayAnswer.sum([(Self.a, .success(nil)), (Self.b, .success(Self.gateway()))])
        #expect(sum?.nodes?.map(\.node) == ["b"] && sum?.connections.map(\.node) == ["b"])
        #expect(GatewayAnswer.sum([(Self.a, .success(nil)), (Self.b, .failure(LedgerFault("x")))]) == nil)
    }

    @Test func `The gateways of all nodes are those of all apps that a node has, in their order`() {
        let sums = GatewayAnswer.sum([
            (Self.a, .success([Self.gateway("news"), Self.gateway()])),
            (Self.b, .success([Self.gateway("bank"), Self.gateway()])), (Self.c, .failure(LedgerFault("x"))),
        ])
        #expect(sums.map(\.app) == ["bank", "news", "shop"])
        #expect(sums.map { $0.nodes?.map(\.node) } == [["b", "c"], ["a", "c"], ["a", "b", "c"]])
    }

    @Test func `Sums of numbers that no node can have do not trap`() throws {
        var far = Self.gateway(queue: .max)
        far.scale.max = .max
        #expect(GatewayAnswer.sum([(Self.a, .success(far)), (Self.b, .success(far))]) != nil)
    }
}
