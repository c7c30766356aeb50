/// The requests that wait for a place: by priority, and fair between origins.
///
/// Origins take turns within a priority, so that a thousand requests for one of them do not delay the only request for
/// another. Requests of one origin and priority keep their order.
struct WaitList: Sendable {
    private struct Lane: Sendable {
        var queues: [Origin: [QueueMachine.ID]] = [:]
        /// The origins with waiting requests. The first one has the next turn.
        var turns: [Origin] = []
    }

    private var lanes: [Lane] = Priority.allCases.map { _ in Lane() }
    private(set) var count = 0

    /// Adds a request at the end, or at the front if it was started before.
    mutating func add(_ id: QueueMachine.ID, origin: Origin, priority: Priority, atFront: Bool) {
        count += 1
        var queue = lanes[priority.rawValue].queues.removeValue(forKey: origin) ?? []
        if queue.isEmpty { lanes[priority.rawValue].turns.append(origin) }
        queue.insert(id, at: atFront ? 0 : queue.count)
        lanes[priority.rawValue].queues[origin] = queue
    }

    /// Removes and returns the next request whose origin has room.
    mutating func next(where hasRoom: (Origin) -> Bool) -> QueueMachine.ID? {
        for lane in lanes.indices.reversed() {
            guard let turn = lanes[lane].turns.firstIndex(where: hasRoom) else { continue }
            let origin = lanes[lane].turns.remove(at: turn)
            guard var queue = lanes[lane].queues.removeValue(forKey: origin), !queue.isEmpty else { continue }
            let id = queue.removeFirst()
            if !queue.isEmpty {
                lanes[lane].turns.append(origin)
                lanes[lane].queues[origin] = queue
            }
            count -= 1
            return id
        }
        return nil
    }

    /// Removes a request.
    mutating func remove(_ id: QueueMachine.ID, origin: Origin, priority: Priority) {
        let lane = priority.rawValue
        guard var queue = lanes[lane].queues.removeValue(forKey: origin), let place = queue.firstIndex(of: id) else {
            return
        }
        queue.remove(at: place)
        count -= 1
        if queue.isEmpty {
            lanes[lane].turns.removeAll { $0 == origin }
        } else {
            lanes[lane].queues[origin] = queue
        }
    }

    /// The request that has waited shortest among those of the lowest priority below the given one, of the origin that
    /// has most of them; nil if there is none.
    func leastUrgent(below priority: Priority) -> QueueMachine.ID? {
        for lane in lanes.indices where lane < priority.rawValue {
            if let queue = lanes[lane].queues.values.max(by: { ($0.count, $0.last ?? 0) < ($1.count, $1.last ?? 0) }) {
                return queue.last
            }
        }
        return nil
    }
}
