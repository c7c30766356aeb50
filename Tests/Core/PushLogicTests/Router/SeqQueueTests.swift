import PushLogic
import TestSupport
import Testing

@Suite struct SeqQueueTests {
    @Test func `Numbers come out in order, and those that are put back come first`() {
        var random = SeededRandom(seed: 7)
        var queue = SeqQueue()
        var model: [UInt64] = []
        var next: UInt64 = 0
        for _ in 0..<2000 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                for _ in 0..<Int.random(in: 0...700, using: &random) {
                    queue.append(next)
                    model.append(next)
                    next += 1
                }
            case 2:
                let count = Int.random(in: 0...900, using: &random)
                let taken = queue.take(count)
                #expect(taken == Array(model.prefix(count)))
                model.removeFirst(taken.count)
            default:
                let taken = queue.take(Int.random(in: 0...300, using: &random))
                let back = taken.suffix(Int.random(in: 0...300, using: &random))
                model.removeFirst(taken.count)
                queue.putBack(back)
                model.insert(contentsOf: back, at: 0)
            }
            #expect(queue.count == model.count)
            #expect(queue.isEmpty == model.isEmpty)
        }
        #expect(queue.take(.max) == model)
        #expect(queue.isEmpty)
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `A scan keeps the order of the numbers and reaches each of them`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = SpilledQueue()
        var model: [UInt64] = []
        var next: UInt64 = 1
        var seen: Set<UInt64> = []
        for _ in 0..<300 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                for _ in 0..<Int.random(in: 0...40, using: &random) {
                    queue.append(next)
                    model.append(next)
                    next += 1
                }
            case 2:
                let taken = queue.take(Int.random(in: 0...30, using: &random))
                #expect(taken == Array(model.prefix(taken.count)))
                model.removeFirst(taken.count)
                let back = taken.suffix(Int.random(in: 0...taken.count, using: &random))
                queue.putBack(back)
                model.insert(contentsOf: back, at: 0)
            default:
                let looked = queue.look(Int.random(in: 1...50, using: &random))
                seen.formUnion(looked)
                let gone = looked.filter { _ in Int.random(in: 0..<5, using: &random) == 0 }
                queue.pass(looked.filter { !gone.contains($0) })
                model.removeAll { gone.contains($0) }
            }
            #expect(queue.count == model.count && queue.isEmpty == model.isEmpty)
        }
        // After two rounds every number was scanned.
        for _ in 0..<2 * (model.count / 50 + 2) {
            let looked = queue.look(50)
            seen.formUnion(looked)
            queue.pass(looked)
        }
        #expect(model.allSatisfy { seen.contains($0) })
        #expect(queue.take(.max) == model)
    }
}
