import PushModel
import PushTime
import TestSupport
import Testing

@testable import PushLogic

/// Tests of the memory for nonces beside a set of the standard library.
@Suite struct NonceTableTests {
    private func mark(_ number: Int) -> NonceHash {
        NonceHash(of: Array("\(number)".utf8), key: AccessDesk.id(1), seed: (1, 2))
    }

    @Test(arguments: 0..<10)
    func `The table holds exactly what was inserted and not removed`(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var table = NonceTable()
        var lists = [[Int]](repeating: [], count: 5)
        var heads = [UInt32](repeating: NonceTable.end, count: 5)
        var all: Set<Int> = []
        for number in 0..<5000 {
            let list = Int.random(in: 0..<5, using: &random)
            if Int.random(in: 0..<3, using: &random) > 0 {
                heads[list] = table.insert(mark(number), before: heads[list])
                lists[list].append(number)
                all.insert(number)
            } else if let last = lists[list].popLast() {
                heads[list] = table.removeFirst(heads[list])
                all.remove(last)
            }
            #expect(table.count == all.count)
            if number % 500 == 0 {
                for other in 0...number { #expect(table.contains(mark(other)) == all.contains(other)) }
            }
        }
        for list in lists.indices {
            while heads[list] != NonceTable.end { heads[list] = table.removeFirst(heads[list]) }
        }
        #expect(table.count == 0)
    }

    @Test func `Marks differ by nonce, key and seed`() {
        var marks: Set<NonceHash> = []
        for number in 0..<1000 {
            marks.insert(mark(number))
            marks.insert(NonceHash(of: Array("\(number)".utf8), key: AccessDesk.id(2), seed: (1, 2)))
            marks.insert(NonceHash(of: Array("\(number)".utf8), key: AccessDesk.id(1), seed: (1, 3)))
        }
        #expect(marks.count == 3000)
    }

    @Test(arguments: [(1, 1), (10, 10), (1000, 1), (1_000_000, 1)])
    func `A meter allows its burst and its rate, and no more`(_ burst: Int, _ milliseconds: Int) {
        let limit = RateLimit(burst: burst, every: .milliseconds(milliseconds))
        var meter = RateMeter()
        var now = AccessDesk().monotonic
        var taken = 0
        while taken <= burst, meter.wait(limit, at: now) == .zero {
            meter.take(limit, at: now)
            taken += 1
        }
        #expect(taken == burst)
        #expect(meter.wait(limit, at: now) == .milliseconds(milliseconds))
        now = now + .milliseconds(milliseconds * 3)
        taken = 0
        while taken <= 3, meter.wait(limit, at: now) == .zero {
            meter.take(limit, at: now)
            taken += 1
        }
        #expect(taken == min(3, burst))
    }
}
