/// The identifier of a timer in one heap. Slots are reused; the generation distinguishes an old identifier from a new
/// timer in the same slot.
package struct TimerID: Hashable, Sendable {
    fileprivate let slot: UInt32
    fileprivate let generation: UInt32
}

/// A priority queue of timers by deadline: a binary heap that tracks the position of each timer.
///
/// Adding, cancelling and removing the earliest timer are O(log n); reading the earliest deadline is O(1). Timers with
/// the same deadline fire in the order in which they were added.
struct TimerHeap<Payload> {
    private struct Entry {
        var deadline: MonotonicTime
        var order: UInt64
        var slot: UInt32

        func isBefore(_ other: Entry) -> Bool {
            deadline != other.deadline ? deadline < other.deadline : order < other.order
        }
    }

    private struct Slot {
        var generation: UInt32 = 0
        var position: Int = -1
        var payload: Payload?
    }

    private var heap: [Entry] = []
    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []
    private var nextOrder: UInt64 = 0

    var count: Int { heap.count }
    var isEmpty: Bool { heap.isEmpty }
    var earliest: MonotonicTime? { heap.first?.deadline }

    mutating func add(_ payload: Payload, at deadline: MonotonicTime) -> TimerID {
        let slot: UInt32
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = UInt32(slots.count)
            slots.append(Slot())
        }
        slots[Int(slot)].payload = payload
        heap.append(Entry(deadline: deadline, order: nextOrder, slot: slot))
        nextOrder += 1
        slots[Int(slot)].position = heap.count - 1
        siftUp(from: heap.count - 1)
        return TimerID(slot: slot, generation: slots[Int(slot)].generation)
    }

    /// Removes the timer. Returns false if it has already fired or was cancelled.
    @discardableResult
    mutating func cancel(_ id: TimerID) -> Bool {
        guard let position = position(of: id) else { return false }
        _ = remove(at: position)
        return true
    }

    /// Moves a pending timer. Returns false if it has already fired or was cancelled.
    @discardableResult
    mutating func move(_ id: TimerID, to deadline: MonotonicTime) -> Bool {
        guard let position = position(of: id) else { return false }
        heap[position].deadline = deadline
        heap[position].order = nextOrder
        nextOrder += 1
        siftUp(from: position)
        siftDown(from: slots[Int(id.slot)].position)
        return true
    }

    /// Returns the deadline of a pending timer, or nil if it has already fired or was cancelled.
    func deadline(of id: TimerID) -> MonotonicTime? {
        position(of: id).map { heap[$0].deadline }
    }

    /// A counter that increases with each timer that is added or moved.
    var newestOrder: UInt64 { nextOrder }

    /// Removes and returns the earliest timer that is due at `now`. Returns nil if there is none, or if that timer was
    /// added after `newest`, an earlier value of `newestOrder`.
    mutating func popDue(
        at now: MonotonicTime, upTo newest: UInt64 = .max
    ) -> (id: TimerID, payload: Payload)? {
        guard let first = heap.first, first.deadline <= now, first.order < newest else { return nil }
        let id = TimerID(slot: first.slot, generation: slots[Int(first.slot)].generation)
        return (id, remove(at: 0))
    }

    private func position(of id: TimerID) -> Int? {
        guard Int(id.slot) < slots.count, slots[Int(id.slot)].generation == id.generation else { return nil }
        let position = slots[Int(id.slot)].position
        return position >= 0 ? position : nil
    }

    private mutating func remove(at position: Int) -> Payload {
        let slot = Int(heap[position].slot)
        let last = heap.count - 1
        if position != last {
            swapEntries(at: position, and: last)
        }
        heap.removeLast()
        if position < heap.count {
            siftUp(from: position)
            siftDown(from: position)
        }
        guard let payload = slots[slot].payload.take() else {
            preconditionFailure("timer heap: slot \(slot) is in the heap without a payload")
        }
        slots[slot].position = -1
        slots[slot].generation &+= 1
        freeSlots.append(UInt32(slot))
        return payload
    }

    private mutating func swapEntries(at left: Int, and right: Int) {
        heap.swapAt(left, right)
        slots[Int(heap[left].slot)].position = left
        slots[Int(heap[right].slot)].position = right
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].isBefore(heap[parent]) else { return }
            swapEntries(at: child, and: parent)
            child = parent
        }
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].isBefore(heap[smallest]) {
                smallest = child
            }
            if smallest == parent { return }
            swapEntries(at: parent, and: smallest)
            parent = smallest
        }
    }
}
