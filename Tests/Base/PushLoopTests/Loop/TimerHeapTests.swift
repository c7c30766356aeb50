import TestSupport
import Testing

@testable import PushLoop

@Suite struct TimerHeapTests {
    /// A model of the heap: a sorted array.
    private struct Mirror {
        struct Entry {
            let deadline: Int64
            let name: Int
            let id: TimerID
        }

        private(set) var timers: [Entry] = []
        private(set) var added = 0

        /// Inserts the timer after those with the same deadline.
        mutating func add(_ name: Int, at deadline: Int64, id: TimerID) {
            let place = timers.firstIndex { $0.deadline > deadline } ?? timers.count
            timers.insert(Entry(deadline: deadline, name: name, id: id), at: place)
            added += 1
        }

        mutating func remove(at index: Int) -> Entry {
            timers.remove(at: index)
        }
    }

    @Test("The heap agrees with a sorted list in a random walk", arguments: [1] as [UInt64])
    func agreesWithASortedListOverARandomWalk(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var heap = TimerHeap<Int>()
        var mirror = Mirror()
        var dead: [TimerID] = []
        var now: Int64 = 0
        var differences = 0
        for step in 0..<100_000 {
            // Removing more often above 30 timers keeps the model fast and the free list in use.
            switch Int.random(in: 0..<(mirror.timers.count > 30 ? 14 : 10), using: &random) {
            case 0...4:
                let deadline = now + Int64.random(in: 0...50, using: &random)
                mirror.add(step, at: deadline, id: heap.add(step, at: MonotonicTime(nanoseconds: deadline)))
            case 5 where !mirror.timers.isEmpty:
                let index = Int.random(in: 0..<mirror.timers.count, using: &random)
                let deadline = now + Int64.random(in: 0...50, using: &random)
                let moved = mirror.remove(at: index)
                if !heap.move(moved.id, to: MonotonicTime(nanoseconds: deadline)) { differences += 1 }
                mirror.add(moved.name, at: deadline, id: moved.id)
            case 6, 7:
                guard !mirror.timers.isEmpty else { break }
                let index = Int.random(in: 0..<mirror.timers.count, using: &random)
                let gone = mirror.remove(at: index)
                if !heap.cancel(gone.id) { differences += 1 }
                dead.append(gone.id)
            case 8:
                // An old id must not match the timer that now has its slot.
                if let id = dead.randomElement(using: &random) {
                    if heap.cancel(id) || heap.move(id, to: .distantFuture) { differences += 1 }
                }
            default:
                now += Int64.random(in: 0...3, using: &random)
                let isDue = mirror.timers.first.map { $0.deadline <= now } ?? false
                let expected = isDue ? mirror.remove(at: 0) : nil
                let popped = heap.popDue(at: MonotonicTime(nanoseconds: now))
                if popped?.payload != expected?.name || popped?.id != expected?.id { differences += 1 }
                if let expected { dead.append(expected.id) }
            }
            if heap.count != mirror.timers.count { differences += 1 }
            if heap.earliest?.nanoseconds != mirror.timers.first?.deadline { differences += 1 }
            if dead.count > 500 { dead.removeFirst(250) }
        }
        #expect(differences == 0)
        #expect(mirror.added > 30_000, "the walk adds many timers")
    }

    @Test("An empty heap has no timer") func emptyHeapHasNothing() {
        var heap = TimerHeap<Int>()
        #expect(heap.isEmpty)
        #expect(heap.earliest == nil)
        #expect(heap.popDue(at: .distantFuture) == nil)
    }

    @Test("A timer that is not due stays in the heap") func timerThatIsNotDueStays() {
        var heap = TimerHeap<String>()
        _ = heap.add("later", at: MonotonicTime(nanoseconds: 10))
        #expect(heap.popDue(at: MonotonicTime(nanoseconds: 9)) == nil)
        #expect(heap.popDue(at: MonotonicTime(nanoseconds: 10))?.payload == "later")
    }

    @Test("Timers added later wait") func youngerTimersWait() {
        var heap = TimerHeap<String>()
        let time = MonotonicTime(nanoseconds: 10)
        _ = heap.add("old", at: time)
        let newest = heap.newestOrder
        _ = heap.add("young", at: time)
        #expect(heap.popDue(at: time, upTo: newest)?.payload == "old")
        #expect(heap.popDue(at: time, upTo: newest) == nil)
        #expect(heap.popDue(at: time)?.payload == "young")
    }

    @Test("The payload is freed with its timer") func payloadGoesWithItsTimer() {
        final class Payload {}
        var heap = TimerHeap<Payload>()
        weak var held: Payload?
        let id = {
            let payload = Payload()
            held = payload
            return heap.add(payload, at: .distantFuture)
        }()
        #expect(held != nil)
        heap.cancel(id)
        #expect(held == nil)
    }
}
