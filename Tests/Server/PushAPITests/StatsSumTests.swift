import PushModel
import PushTime
import Testing

@testable import PushAPI

@Suite struct StatsSumTests {
    private static func answer(_ start: Int64, sent: UInt64, state: String = "up") -> StatsAnswer {
        var answer = StatsAnswer(at: 9000, startedAt: WallTime(milliseconds: start), ready: state == "up")
        answer.version = "1"
        answer.intake = .init(accepted: sent, duplicate: 1, rejected: 2, busy: 3)
        answer.backlog = .init(
            waiting: 5, scheduled: 1, nextDue: WallTime(milliseconds: start), oldestWaitingMilliseconds: start)
        var app = StatsAnswer.App(app: "shop", state: state)
        (app.sent, app.connections, app.isBrakeOn, app.lostAnswers) = (sent, 2, state != "up", 4)
        if app.isBrakeOn == true { (app.brakeAdvice, app.brakeReason) = ("check the topic", "BadDeviceToken") }
        app.latency = Latency(bounds: [1, 2], counts: [sent, 0, 1])
        app.oldestWaitingMilliseconds = start
        answer.apps = [app]
        var ledger = StatsAnswer.Ledger()
        (ledger.events, ledger.lastCommitMilliseconds) = (sent, Double(start))
        answer.ledger = ledger
        answer.registry = .init(devices: 100, inactive: 10)
        answer.events = .init(subscriptions: 1, published: sent)
        if state != "up" { answer.obstacles = ["shop: \(state)"] }
        return answer
    }

    @Test func `The numbers of all nodes are added up, and shared ones are not`() throws {
        let sum = StatsAnswer.sum(
            own: (NodeID("b")!, Self.answer(2, sent: 10)),
            others: [(NodeID("a")!, .success(Self.answer(7, sent: 30, state: "halted: x")))])
        #expect(sum.nodes?.map(\.node) == ["a", "b"] && sum.nodes?.map(\.accepted) == [30, 10])
        #expect(sum.startedAt == WallTime(milliseconds: 7) && !sum.ready)
        #expect(sum.obstacles == ["node a: shop: halted: x"])
        #expect(sum.intake == .init(accepted: 40, duplicate: 2, rejected: 4, busy: 6))
        #expect(
            sum.backlog
                == .init(
                    waiting: 10, scheduled: 2, nextDue: WallTime(milliseconds: 2), oldestWaitingMilliseconds: 7))
        let app = try #require(sum.apps.first)
        #expect(sum.apps.count == 1 && app.sent == 40 && app.connections == 4 && app.isBrakeOn == true)
        #expect(app.lostAnswers == 8)
        #expect(app.brakeAdvice == "check the topic" && app.brakeReason == "BadDeviceToken")
        #expect(app.state == "on node a: halted: x" && app.oldestWaitingMilliseconds == 7)
        #expect(app.latency == Latency(bounds: [1, 2], counts: [40, 0, 2]))
        #expect(sum.ledger?.events == 40 && sum.ledger?.lastCommitMilliseconds == 7)
        #expect(sum.registry == .init(devices: 100, inactive: 10))
        #expect(sum.events == .init(subscriptions: 2, published: 40))
    }

    private static func point(_ at: Int64, sent: Double, p99: Double? = nil, waiting: UInt64 = 0) -> StatsAnswer.Point {
        StatsAnswer.Point(
            at: WallTime(milliseconds: at), accepted: sent, refused: 0.5, busy: 1, sent: sent, rejected: 0, unknown: 0,
            p50: nil, p99: p99, waiting: waiting, oldestWaitingMilliseconds: Int64(waiting))
    }

    @Test func `The past of a cluster has the rates of all nodes, at the moments of the node with the longest past`() {
        var (own, other, silent) = (Self.answer(2, sent: 10), Self.answer(7, sent: 30), Self.answer(8, sent: 1))
        // The other node runs for longer, and its timer is late once. The own node has restarted.
        own.history = [Self.point(20_900, sent: 3, p99: 7, waiting: 2), Self.point(22_901, sent: 4)]
        other.history = [10_000, 17_500, 19_500, 23_000].map { Self.point($0, sent: 10, p99: 5, waiting: 9) }
        silent.history = []
        let sum = StatsAnswer.sum(
            own: (NodeID("b")!, own),
            others: [
                (NodeID("a")!, .success(other)), (NodeID("c")!, .success(silent)),
                (NodeID("d")!, .failure(LedgerFault("node d has not answered"))),
            ])
        let past = sum.history ?? []
        #expect(past.map(\.at) == [10_000, 17_500, 19_500, 23_000].map { WallTime(milliseconds: $0) })
        #expect(past.map(\.sent) == [10, 13, 13, 14])
        #expect(past.map(\.refused) == [0.5, 1, 1, 1])
        #expect(past.map(\.p99) == [5, 7, 7, 5])
        #expect(past.map(\.waiting) == [9, 11, 11, 9])
        #expect(past.map(\.oldestWaitingMilliseconds) == [9, 9, 9, 9])
    }

    @Test func `The past of a cluster is left out if it is not asked for, and empty if no node has one`() {
        var (own, other) = (Self.answer(2, sent: 10), Self.answer(7, sent: 30))
        let nodes = { (own: StatsAnswer, other: StatsAnswer) in
            StatsAnswer.sum(own: (NodeID("b")!, own), others: [(NodeID("a")!, .success(other))]).history
        }
        #expect(nodes(own, other) == nil)
        own.history = []
        #expect(nodes(own, other) == [], "a node of an earlier version has none")
        other.history = []
        #expect(nodes(own, other) == [])
    }

    @Test func `A node without an answer is named, and its numbers are said to be missing`() {
        let own = Self.answer(2, sent: 10)
        let sum = StatsAnswer.sum(
            own: (NodeID("a")!, own), others: [(NodeID("c")!, .failure(LedgerFault("node c has not answered")))])
        #expect(sum.nodes?.map(\.node) == ["a", "c"] && sum.nodes?.map(\.fault) == [nil, "node c has not answered"])
        #expect(!sum.ready && sum.obstacles == ["the numbers of node c are missing: node c has not answered"])
        #expect(sum.intake == own.intake && sum.apps == own.apps)
    }

    @Test func `An app that only some nodes have is an obstacle, because its messages wait on the others`() {
        var other = Self.answer(7, sent: 30)
        other.apps = [StatsAnswer.App(app: "news", state: "up")]
        let sum = StatsAnswer.sum(
            own: (NodeID("b")!, Self.answer(2, sent: 10)),
            others: [
                (NodeID("a")!, .success(other)), (NodeID("c")!, .success(other)),
                (NodeID("d")!, .failure(LedgerFault("node d has not answered"))),
            ])
        #expect(!sum.ready)
        #expect(
            sum.obstacles == [
                "the numbers of node d are missing: node d has not answered",
                "the app news is missing on node b, where its messages wait; give all nodes the same apps",
                "the app shop is missing on nodes a, c, where its messages wait; give all nodes the same apps",
            ])
    }
}
