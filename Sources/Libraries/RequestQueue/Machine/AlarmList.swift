/// The times at which something happens to requests, the earliest first.
///
/// A heap holds the times, and those that were changed or removed stay in it until they are the earliest or the
/// majority: a change costs the logarithm of the number of requests and not that number.
struct AlarmList: Sendable {
    private struct Alarm: Sendable, Equatable {
        let time: Duration
        let id: QueueMachine.ID
    }

    private var times: [QueueMachine.ID: Duration] = [:]
    private var heap: [Alarm] = []

    var isEmpty: Bool { times.isEmpty }

    /// The earliest time; nil if there is none.
    var next: Duration? { heap.first?.time }

    /// The number of times that are stored, with those that do not hold any more.
    var storedCount: Int { heap.count }

    /// Sets the time of a request; nil if nothing happens to it by itself.
    mutating func set(_ id: QueueMachine.ID, to time: Duration?) {
        guard times[id] != time else { return }
        times[id] = time
        if let time { push(Alarm(time: time, id: id)) }
        dropStale()
    }

    /// Returns the requests whose time has come, ascending. They keep their times.
    func due(at now: Duration) -> [QueueMachine.ID] {
        var ids: Set<QueueMachine.ID> = []
        var places = heap.isEmpty ? [] : [0]
        // Below an alarm are only later ones.
        while let place = places.popLast() {
            guard heap[place].time <= now else { continue }
            if times[heap[place].id] == heap[place].time { ids.insert(heap[place].id) }
            places += [2 * place + 1, 2 * place + 2].filter { $0 < heap.count }
        }
        return ids.sorted()
    }

    /// Makes the first alarm one that holds, and bounds the number of those that do not.
    private mutating func dropStale() {
        while let first = heap.first, times[first.id] != first.time { removeFirst() }
        guard heap.count > 2 * times.count + 64 else { return }
        // A sorted array is a heap.
        heap = times.map { Alarm(time: $0.value, id: $0.key) }.sorted { $0.time < $1.time }
    }

    private mutating func push(_ alarm: Alarm) {
        heap.append(alarm)
        var place = heap.count - 1
        while place > 0, case let above = (place - 1) / 2, heap[place].time < heap[above].time {
            heap.swapAt(place, above)
            place = above
        }
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var place = 0
        while true {
            let below = [2 * place + 1, 2 * place + 2].filter { $0 < heap.count }
            guard let least = below.min(by: { heap[$0].time < heap[$1].time }), heap[least].time < heap[place].time
            else { return }
            heap.swapAt(place, least)
            place = least
        }
    }
}
