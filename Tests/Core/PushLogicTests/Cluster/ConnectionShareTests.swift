import PushLogic
import PushModel
import TestSupport
import Testing

@Suite struct ConnectionShareTests {
    private static let shop = AppID("shop")!
    private static func node(_ name: String) -> NodeID { NodeID(name)! }

    @Test(arguments: 0..<200) func `The shares add up to the whole, and differ by one at most`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let names = (0..<Int.random(in: 1...12, using: &random)).map { Self.node("n\($0)") }
        let live = Set(names)
        let low = Int.random(in: 1...40, using: &random)
        let total = low...Int.random(in: low...60, using: &random)
        let shares = names.map { ConnectionShare.share(of: total, on: $0, live: live) }
        #expect(shares.reduce(0) { $0 + $1.lowerBound } == max(total.lowerBound, names.count))
        #expect(shares.reduce(0) { $0 + $1.upperBound } == max(total.upperBound, names.count))
        #expect(shares.allSatisfy { $0.lowerBound >= 1 })
        let upper = shares.map(\.upperBound)
        #expect((upper.max() ?? 0) - (upper.min() ?? 0) <= 1)
        // A node that dies leaves its part to the others.
        let rest = live.subtracting([names[0]])
        if let second = names.dropFirst().first {
            let larger = ConnectionShare.share(of: total, on: second, live: rest)
            #expect(larger.upperBound >= ConnectionShare.share(of: total, on: second, live: live).upperBound)
        }
        // A node that has not joined yet counts itself.
        let newcomer = Self.node("z")
        let own = ConnectionShare.share(of: total, on: newcomer, live: live)
        #expect(own == ConnectionShare.share(of: total, on: newcomer, live: live.union([newcomer])))
    }

    @Test func `The mark of a node comes first, and a mark for another configuration does not count`() {
        let (a, b) = (Self.node("a"), Self.node("b"))
        let whole = SharedScale(Self.shop, node: nil, connections: 4...9, configured: 1...4)
        let one = SharedScale(Self.shop, node: b, connections: 7...7, configured: 1...4)
        func range(_ node: NodeID, _ marks: [SharedScale], configured: ClosedRange<Int> = 1...4) -> ClosedRange<Int>? {
            ConnectionShare.range(of: Self.shop, on: node, configured: configured, marks: marks, live: [a, b])
        }
        #expect(range(a, [whole, one]) == 2...5 && range(b, [whole, one]) == 7...7 && range(b, [whole]) == 2...4)
        #expect(range(a, [one]) == nil && range(a, []) == nil)
        #expect(range(a, [whole], configured: 1...5) == nil)
        let other = ConnectionShare.range(
            of: AppID("news")!, on: a, configured: 1...4, marks: [whole], live: [a, b])
        #expect(other == nil)
    }
}
