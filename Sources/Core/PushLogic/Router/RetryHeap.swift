import PushModel
import PushTime

/// The deliveries that wait for their next attempt, the earliest first.
struct RetryHeap {
    private struct Entry {
        let at: MonotonicTime
        let order: UInt64
        let slot: Int32

        func isBefore(_ other: Entry) -> Bool { at != other.at ? at < other.at : order < other.order }
    }

    // The heap moves small entries; the deliveries keep their slots.
    private var heap: [Entry] = []
    private var held: [Delivery?] = []
    private var free: [Int32] = []
    private var order: UInt64 = 0

    var count: Int { heap.count }
    var earliest: MonotonicTime? { heap.first?.at }

    mutating func add(_ delivery: Delivery, at time: MonotonicTime) {
        let slot: Int32
        if let last = free.popLast() {
            slot = last
            held[Int(slot)] = delivery
        } else {
            slot = Int32(held.count)
            held.append(delivery)
        }
        order += 1
        heap.append(Entry(at: time, order: order, slot: slot))
        siftUp(heap.count - 1)
    }

    mutating func popDue(at now: MonotonicTime) -> Delivery? {
        guard let first = heap.first, first.at <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        siftDown(0)
        free.append(first.slot)
        let delivery = held[Int(first.slot)].take()
        if heap.isEmpty { self = RetryHeap() }
        return delivery
    }

    /// Returns the earliest of the deliveries for which `isMeant` returns true. It looks at all of them.
    func first(where isMeant: (Delivery) -> Bool) -> (delivery: Delivery, at: MonotonicTime)? {
        var found: Entry?
        for entry in heap where found.map({ entry.isBefore($0) }) ?? true {
            if let delivery = held[Int(entry.slot)], isMeant(delivery) { found = entry }
        }
        return found.flatMap { entry in held[Int(entry.slot)].map { ($0, entry.at) } }
    }

    /// Removes the deliveries for which `isMeant` returns true, and returns them.
    mutating func removeAll(where isMeant: (Delivery) -> Bool) -> [Delivery] {
        var removed: [Delivery] = []
        var kept: [Entry] = []
        for entry in heap {
            if let delivery = held[Int(entry.slot)], isMeant(delivery) {
                removed.append(delivery)
                held[Int(entry.slot)] = nil
                free.append(entry.slot)
            } else {
                kept.append(entry)
            }
        }
        if removed.isEmpty { return [] }
        heap = []
        for entry in kept {
            heap.append(entry)
            siftUp(heap.count - 1)
        }
        if heap.isEmpty { self = RetryHeap() }
        return removed
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].isBefore(heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var smallest = parent
            for child in 2 * parent + 1...2 * parent + 2
            where child < heap.count && heap[child].isBefore(heap[smallest]) {
                smallest = child
            }
            if smallest == parent { return }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
