/// Work of the model in the order of its times, and of its arrival within one time.
struct EventQueue {
    private struct Entry {
        let time: Int64
        let number: Int
        let work: () -> Void

        func isBefore(_ other: Entry) -> Bool {
            time == other.time ? number < other.number : time < other.time
        }
    }

    private var heap: [Entry] = []
    private var count = 0

    var nextTime: Int64? { heap.first?.time }

    mutating func add(at time: Int64, _ work: @escaping () -> Void) {
        count += 1
        heap.append(Entry(time: time, number: count, work: work))
        var child = heap.count - 1
        while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() -> () -> Void {
        let work = heap[0].work
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].isBefore(heap[least])
            {
                least = child
            }
            guard least != parent else { return work }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
