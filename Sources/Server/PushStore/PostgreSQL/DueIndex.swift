import PushLogic
import PushTime

/// The scheduled messages of one part that are not done, in memory: their keys by number, and the order in which they
/// become due. Each takes about 80 bytes; `limits.scheduled` bounds their number.
struct DueIndex {
    struct Entry {
        let due: UnixSeconds
        let key: AcceptedKey
        /// Whether the message was handed out. It stays known until it is done.
        var isReleased = false
    }

    private var entries: [UInt64: Entry] = [:]
    /// A heap of what is not handed out, the earliest first. Messages that are done stay in it until they come up.
    private var heap: [Place] = []

    private struct Place: Comparable {
        let due: UnixSeconds
        let seq: UInt64

        static func < (one: Place, other: Place) -> Bool {
            one.due != other.due ? one.due < other.due : one.seq < other.seq
        }
    }

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    func key(of seq: UInt64) -> AcceptedKey? { entries[seq]?.key }

    /// Returns which of `count` numbers from the given one belong to scheduled messages.
    func numbers(from first: UInt64, count: Int) -> Set<UInt64> {
        if entries.isEmpty || count <= 0 { return [] }
        let end = first.addingReportingOverflow(UInt64(count))
        let range = first..<(end.overflow ? .max : end.partialValue)
        if entries.count < count { return Set(entries.keys.filter { range.contains($0) }) }
        return Set(range.filter { entries[$0] != nil })
    }

    mutating func add(_ seq: UInt64, due: UnixSeconds, key: AcceptedKey) {
        entries[seq] = Entry(due: due, key: key)
        push(Place(due: due, seq: seq))
    }

    /// Removes a message that is done.
    mutating func remove(_ seq: UInt64) {
        entries[seq] = nil
        // Most messages are done after they came up. Without this, many that are cancelled early would fill the heap.
        if heap.count > 2 * entries.count + 1024 {
            heap.removeAll { entries[$0.seq]?.isReleased ?? true }
            heap.sort()
        }
    }

    /// Puts a message back that was handed out and could not be read.
    mutating func putBack(_ seq: UInt64) {
        guard let entry = entries[seq], entry.isReleased else { return }
        entries[seq]?.isReleased = false
        push(Place(due: entry.due, seq: seq))
    }

    /// Keeps a message from being handed out, because it was cancelled.
    mutating func withhold(_ seq: UInt64) { entries[seq]?.isReleased = true }

    /// Hands out the next message that is due at `time`.
    mutating func next(at time: UnixSeconds) -> UInt64? {
        guard let first = first(), first.due <= time else { return nil }
        pop()
        entries[first.seq]?.isReleased = true
        return first.seq
    }

    /// When the next message is due; nil if none is scheduled.
    var nextDue: UnixSeconds? {
        mutating get { first()?.due }
    }

    private mutating func first() -> Place? {
        while let first = heap.first {
            if let entry = entries[first.seq], !entry.isReleased { return first }
            pop()
        }
        return nil
    }

    // MARK: The heap

    private mutating func push(_ place: Place) {
        heap.append(place)
        var index = heap.count - 1
        while index > 0, heap[index] < heap[(index - 1) / 2] {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func pop() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        var index = 0
        while true {
            let left = 2 * index + 1
            guard left < heap.count else { return }
            let right = left + 1
            let child = right < heap.count && heap[right] < heap[left] ? right : left
            guard heap[child] < heap[index] else { return }
            heap.swapAt(index, child)
            index = child
        }
    }
}
