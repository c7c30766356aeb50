import TestSupport
import Testing

@testable import PushLogic

@Suite struct BalanceTests {
    private static func counts(_ holders: [Balance.Holder], _ homes: [Int?], members: Int) -> [Int] {
        var counts = [Int](repeating: 0, count: members)
        for (holder, home) in zip(holders, homes) {
            if let home { counts[home] += 1 } else if case .member(let member) = holder { counts[member] += 1 }
        }
        return counts
    }

    /// A cluster in which each partition is in some state.
    private static func someHolders(_ partitions: Int, members: Int, _ random: inout SeededRandom) -> [Balance.Holder] {
        (0..<partitions).map { _ in
            switch Int.random(in: 0..<8, using: &random) {
            case 0: .orphan
            case 1: .leaving
            default: .member(Int.random(in: 0..<members, using: &random))
            }
        }
    }

    @Test func `Partitions without an owner are shared equally`() {
        let holders = [Balance.Holder](repeating: .orphan, count: 64)
        let homes = Balance.plan(holders, members: 3)
        #expect(Self.counts(holders, homes, members: 3) == [22, 21, 21])
    }

    @Test func `Any state becomes balanced, and a balanced one does not change`() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<500 {
            let members = Int.random(in: 1...9, using: &random)
            let partitions = Int.random(in: 1...64, using: &random)
            let holders = Self.someHolders(partitions, members: members, &random)
            let homes = Balance.plan(holders, members: members)
            let counts = Self.counts(holders, homes, members: members)
            #expect(counts.allSatisfy { $0 == partitions / members || $0 == partitions / members + 1 })
            #expect(counts.reduce(0, +) == partitions)
            let after = zip(holders, homes).map { holder, home in home.map { .member($0) } ?? holder }
            #expect(Balance.plan(after, members: members).allSatisfy { $0 == nil })
        }
    }

    @Test func `No partition moves that could stay`() {
        var random = SeededRandom(seed: 2)
        for _ in 0..<500 {
            let members = Int.random(in: 1...9, using: &random)
            let partitions = Int.random(in: 1...64, using: &random)
            let holders = Self.someHolders(partitions, members: members, &random)
            let homes = Balance.plan(holders, members: members)
            let before = (0..<members).map { member in holders.count { $0 == .member(member) } }.sorted(by: >)
            // The fewest moves: the nodes that hold most keep one more than the others.
            let (least, rest) = partitions.quotientAndRemainder(dividingBy: members)
            let surplus = before.enumerated().reduce(0) { $0 + max(0, $1.element - least - ($1.offset < rest ? 1 : 0)) }
            let moves = zip(holders, homes).count { holder, home in
                if case .member = holder { home != nil } else { false }
            }
            #expect(moves == surplus)
        }
    }

    @Test(arguments: 2...16) func `A node that joins moves its share at most`(_ members: Int) {
        var holders = [Balance.Holder](repeating: .orphan, count: 64)
        holders = Balance.plan(holders, members: members - 1).map { $0.map { .member($0) } ?? .orphan }
        let homes = Balance.plan(holders, members: members)
        let moves = homes.count { $0 != nil }
        #expect(moves > 0)
        #expect(moves <= (64 + members - 1) / members)
        #expect(homes.allSatisfy { $0 == nil || $0 == members - 1 }, "a partition moves to another node")
    }

    @Test func `Partitions of a node whose lease has ended stay with it`() {
        let holders: [Balance.Holder] = [.fixed, .fixed, .member(0), .orphan]
        #expect(Balance.plan(holders, members: 2) == [nil, nil, nil, 1])
    }

    @Test func `Without members nothing moves`() {
        #expect(Balance.plan([.orphan, .leaving, .fixed], members: 0) == [nil, nil, nil])
    }
}
