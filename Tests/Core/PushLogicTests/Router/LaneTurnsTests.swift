import PushLogic
import TestSupport
import Testing

/// The order of the lanes, and their shares.
@Suite struct LaneTurnsTests {
    typealias Waiting = LaneTurns.Waiting

    /// Sends `total` deliveries while the same lanes wait, at most `credit` at a time, and counts them by lane.
    private func serve(_ waiting: Waiting, total: Int, credit: Int = .max) -> (fresh: [Int], retries: [Int]) {
        var turns = LaneTurns()
        var fresh = Array(repeating: 0, count: LaneKind.count)
        var retries = fresh
        var left = total
        while left > 0, let turn = turns.next(waiting) {
            let count = min(turn.limit, left, credit)
            if turn.isRetry { retries[turn.lane.number] += count } else { fresh[turn.lane.number] += count }
            turns.served(turn, count: count, while: waiting)
            left -= count
        }
        return (fresh, retries)
    }

    private func waiting(_ fresh: [Int], retries: [Int] = []) -> Waiting {
        var waiting = Waiting()
        for lane in fresh { waiting.fresh |= 1 << lane }
        for lane in retries { waiting.retries |= 1 << lane }
        return waiting
    }

    @Test func `There is no turn if no lane waits`() {
        var turns = LaneTurns()
        let turn = turns.next(Waiting())
        #expect(turn == nil)
    }

    @Test(arguments: 0..<LaneKind.count) func `A lane that waits alone gets everything`(_ lane: Int) {
        #expect(serve(waiting([lane]), total: 1000).fresh[lane] == 1000)
        #expect(serve(waiting([], retries: [lane]), total: 1000).retries[lane] == 1000)
    }

    @Test(arguments: [1, 7, 1000]) func `Brief messages get three of four deliveries`(_ credit: Int) {
        for brief in [0, 2, 4] {
            let served = serve(waiting([brief, brief + 1]), total: 40_000, credit: credit).fresh
            #expect(served[brief] >= 30_000)
            #expect(served[brief + 1] >= 9000)
        }
    }

    @Test(arguments: [1, 7, 1000]) func `A lower priority gets one delivery in sixteen`(_ credit: Int) {
        for (higher, lower) in [(0, 2), (0, 4), (2, 4), (1, 3), (1, 4)] {
            let served = serve(waiting([higher, lower]), total: 48_000, credit: credit).fresh
            #expect((2900...3000).contains(served[lower]), "\(higher) and \(lower): \(served)")
        }
    }

    @Test func `If all lanes wait, each gets a share`() {
        let served = serve(waiting([0, 1, 2, 3, 4, 5, 6], retries: [0, 1, 2, 3, 4, 5, 6]), total: 200_000)
        #expect(served.fresh.allSatisfy { $0 > 500 }, "\(served)")
        #expect(served.retries.allSatisfy { $0 > 200 })
    }

    @Test func `Further attempts get one delivery in four while first attempts wait`() {
        let served = serve(waiting([0], retries: [0]), total: 10_000)
        #expect((2300...2500).contains(served.retries[0]))
    }

    @Test func `A brief message goes before a broadcast that was alone so far`() {
        var turns = LaneTurns()
        let broad = waiting([1])
        for _ in 0..<100 {
            guard let turn = turns.next(broad) else { break }
            turns.served(turn, count: turn.limit, while: broad)
        }
        let turn = turns.next(waiting([0, 1]))
        #expect(turn == LaneTurns.Turn(lane: LaneKind(0), isRetry: false, limit: 128))
    }

    /// Lanes start and stop waiting at random. A lane that keeps waiting is served within a bounded number of
    /// deliveries.
    @Test func `No lane that keeps waiting starves`() {
        for seed in UInt64(1)...100 {
            var random = SeededRandom(seed: seed)
            var turns = LaneTurns()
            var patience = Array(repeating: 0, count: 2 * LaneKind.count)
            var now = Waiting()
            for _ in 0..<4000 {
                if Int.random(in: 0..<4, using: &random) == 0 {
                    now.fresh ^= 1 << UInt8.random(in: 0..<UInt8(LaneKind.count), using: &random)
                    now.retries ^= 1 << UInt8.random(in: 0..<UInt8(LaneKind.count), using: &random)
                }
                guard let turn = turns.next(now) else { continue }
                let own = turn.isRetry ? now.retries : now.fresh
                guard own >> turn.lane.number & 1 != 0, turn.limit > 0 else {
                    Issue.record("seed \(seed): a turn for a lane that does not wait: \(turn) of \(now)")
                    return
                }
                let count = Int.random(in: 1...turn.limit, using: &random)
                turns.served(turn, count: count, while: now)
                for index in patience.indices {
                    let waits =
                        (index < LaneKind.count
                            ? now.fresh >> index : now.retries >> (index - LaneKind.count)) & 1 != 0
                    let isServed = index == turn.lane.number + (turn.isRetry ? LaneKind.count : 0)
                    patience[index] = waits && !isServed ? patience[index] + count : 0
                    // The smallest share is one in sixteen, of that one in four, and of that one in four; other debts
                    // may be paid first.
                    guard patience[index] < 16 * 4 * 4 * 16 * 2 else {
                        Issue.record("seed \(seed): \(index) starves")
                        return
                    }
                }
            }
        }
    }
}
