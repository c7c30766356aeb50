import PushLogic
import PushModel

/// The numbers of the messages that wait when a ledger is opened, by lane, each in ascending order.
struct WaitingLanes {
    private(set) var lanes: [(lane: Lane, seqs: [UInt64])] = []
    private var places: [Lane: Int] = [:]
    /// The place of the last message. Messages of one lane come in runs.
    private var last = 0

    mutating func add(_ seq: UInt64, to lane: Lane) {
        if last >= lanes.count || lanes[last].lane != lane { last = place(of: lane) }
        lanes[last].seqs.append(seq)
    }

    private mutating func place(of lane: Lane) -> Int {
        if let place = places[lane] { return place }
        places[lane] = lanes.count
        lanes.append((lane, []))
        return lanes.count - 1
    }

    /// Removes the messages that are done, and lanes without others.
    mutating func removeDone(by pending: PendingMessages) {
        for index in lanes.indices { lanes[index].seqs = pending.open(among: lanes[index].seqs) }
        lanes.removeAll(where: \.seqs.isEmpty)
        places = Dictionary(uniqueKeysWithValues: lanes.indices.map { (lanes[$0].lane, $0) })
        last = 0
    }
}
