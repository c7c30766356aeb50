import TestSupport
import Testing

@testable import PushLogic

@Suite struct LaterMessagesTests {
    /// Numbers are removed in ascending order, as keys expire, or in any order, as scheduled messages are done.
    @Test(arguments: [false, true]) func `The cost of removing a number hardly grows with their count`(inOrder: Bool) {
        func moves(_ count: Int) -> Int {
            var random = SeededRandom(seed: 3)
            var later = LaterMessages()
            for number in 1...UInt64(count) { later.append(number) }
            var numbers = Array(1...UInt64(count))
            if !inOrder { numbers.shuffle(using: &random) }
            for number in numbers {
                let isRemoved = later.remove(number)
                #expect(isRemoved)
            }
            #expect(later.count == 0)
            return later.moves
        }
        // The depth of a search grows with the logarithm of the count.
        #expect(moves(20_000) < 15 * moves(2000))
    }

    @Test func `Numbers are found, sorted and removed as in a plain set`() {
        var random = SeededRandom(seed: 11)
        var later = LaterMessages()
        var model: Set<UInt64> = []
        for number in (1...300 as ClosedRange<UInt64>).shuffled(using: &random) {
            later.append(number)
            if number % 5 == 0 { later.append(number) }
            model.insert(number)
        }
        later.sort()
        #expect(later.count == model.count)
        for _ in 0..<400 {
            let number = UInt64.random(in: 1...310, using: &random)
            let isThere = later.contains(number)
            #expect(isThere == model.contains(number))
            let isRemoved = later.remove(number)
            #expect(isRemoved == (model.remove(number) != nil))
            #expect(later.first == model.min())
            #expect(later.count == model.count)
        }
    }
}
