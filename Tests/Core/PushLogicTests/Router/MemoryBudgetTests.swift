import Testing

@testable import PushLogic

/// The shares of lanes in the pool, their floors, and the offers of room.
@Suite struct MemoryBudgetTests {
    /// Kinds with the largest and the smallest share of the pool.
    private let largest = LaneKind(0)
    private let smallest = LaneKind(5)

    private func budget(messages: Int = 100, bytes: Int = 100_000, floor: Int = 4) -> MemoryBudget {
        var policy = RouterPolicy()
        policy.loadedMessages = messages
        policy.loadedBytes = bytes
        policy.laneFloor = floor
        policy.laneFloorBytes = 4000
        return MemoryBudget(policy)
    }

    /// Holds as many messages of a size as the lane may.
    private func fill(
        _ lane: inout MemoryBudget.Use, kind: LaneKind, cost: Int = 10, hasCredit: Bool = false,
        in budget: inout MemoryBudget
    ) {
        while budget.hasRoom(for: cost, in: lane, kind: kind, hasCredit: hasCredit) { budget.hold(cost, in: &lane) }
    }

    @Test func `A lane that is alone uses most of the pool, by its kind`() {
        for (number, held) in [80, 66, 66, 50, 50, 33].enumerated() {
            var budget = budget()
            var lane = MemoryBudget.Use()
            fill(&lane, kind: LaneKind(number), in: &budget)
            #expect(abs(lane.held - held) <= 1, "kind \(number): \(lane.held)")
            #expect(budget.held == lane.held && budget.bytes == 10 * lane.held)
        }
    }

    @Test func `Each further lane gets its share of what the others left`() {
        var budget = budget()
        var held: [Int] = []
        for _ in 0..<4 {
            var lane = MemoryBudget.Use()
            fill(&lane, kind: smallest, in: &budget)
            held.append(lane.held)
        }
        #expect(held[0] > held[1] && held[1] > held[2] && held[3] > 0)
        #expect(budget.held < 100)
    }

    @Test func `A lane has a floor beyond the pool while its gateway has credit`() {
        var budget = budget(messages: 10)
        var (full, other) = (MemoryBudget.Use(), MemoryBudget.Use())
        while budget.held < 10 { budget.hold(10, in: &full) }
        #expect(!budget.hasRoom(for: 10, in: other, kind: largest, hasCredit: false))
        fill(&other, kind: largest, hasCredit: true, in: &budget)
        #expect(other.held == 4)
    }

    @Test func `An empty lane may hold one message of any size if its gateway has credit`() {
        var budget = budget()
        var (full, other) = (MemoryBudget.Use(), MemoryBudget.Use())
        budget.hold(100_000, in: &full)
        #expect(!budget.hasRoom(for: 1_000_000, in: other, kind: largest, hasCredit: false))
        #expect(budget.hasRoom(for: 1_000_000, in: other, kind: largest, hasCredit: true))
        budget.hold(1_000_000, in: &other)
        #expect(!budget.hasRoom(for: 10, in: other, kind: largest, hasCredit: true))
    }

    @Test func `Messages on their way from disk use up room`() {
        var budget = budget()
        var (loading, other) = (MemoryBudget.Use(), MemoryBudget.Use())
        budget.beginLoading(100, into: &loading)
        #expect(loading.loading == 100)
        #expect(!budget.hasRoom(for: 10, in: other, kind: largest, hasCredit: false))
        budget.endLoading(100, into: &loading)
        #expect(budget.hasRoom(for: 10, in: other, kind: largest, hasCredit: false))
        budget.hold(10, in: &other)
        budget.release(10, from: &other)
        #expect(budget.held == 0 && budget.bytes == 0 && other.held == 0 && other.bytes == 0)
    }

    @Test func `A lane with large messages reads fewer of them back`() {
        let budget = budget(messages: 10_000, bytes: 1_000_000)
        var lane = MemoryBudget.Use()
        let small = budget.loadLimit(of: lane, kind: largest, hasCredit: false, limit: 1000)
        lane.noteCost(100_000)
        let large = budget.loadLimit(of: lane, kind: largest, hasCredit: false, limit: 1000)
        #expect(small == 1_000_000 / 4 / 4096 && large == 2)
        // The estimate falls slowly.
        lane.noteCost(10)
        #expect(lane.typicalCost == 87_500)
    }

    @Test func `Room is offered once after a release, and only if a lane wants it`() {
        var budget = budget()
        var lane = MemoryBudget.Use()
        budget.hold(10, in: &lane)
        budget.hold(10, in: &lane)
        budget.release(10, from: &lane)
        #expect(!budget.hasOffer)
        let unwanted = budget.takeOffer()
        #expect(!unwanted)
        budget.requestRoom()
        // The release came before the request.
        #expect(!budget.hasOffer)
        budget.release(10, from: &lane)
        #expect(budget.hasOffer)
        let first = budget.takeOffer()
        let second = budget.takeOffer()
        #expect(first && !second)
    }

    @Test func `A full lane reads nothing back until something is released`() {
        var budget = budget()
        var (lane, other) = (MemoryBudget.Use(), MemoryBudget.Use())
        #expect(!budget.isFull(lane))
        budget.hold(10, in: &other)
        budget.markFull(&lane)
        #expect(budget.isFull(lane))
        lane.forgetFull()
        #expect(!budget.isFull(lane))
        budget.markFull(&lane)
        budget.release(10, from: &other)
        #expect(!budget.isFull(lane))
    }
}
