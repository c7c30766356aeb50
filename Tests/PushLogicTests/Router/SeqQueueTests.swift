import PushLogic
import TestSupport
import Testing

@Suite struct SeqQueueTests {
    @Test func `Numbers come out in order, and what is put back comes first`() {
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
}
