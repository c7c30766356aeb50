import PushTransport

/// What subscribers of the publishing socket ask for.
struct SubscribedPrefixes {
    /// `family/app/kind`: with an app of 64 bytes, no topic is longer. What is asked for beyond it matches nothing.
    static let longestTopic = 96

    private let limit: Int
    private(set) var all: Set<[UInt8]> = []
    /// Those that a peer cancelled; it may cancel what it never asked for, though others still want it. So they are
    /// rendered as before, and libzmq decides who gets it. Where nobody does, libzmq never says so: they count until
    /// nobody is connected any more.
    private var cancelled: Set<[UInt8]> = []
    /// By length, how many there are of both.
    private var lengths = [Int](repeating: 0, count: longestTopic + 1)
    /// How many were asked for and not remembered for want of room. libzmq tells of each of them once, and once more when
    /// the last connection that asked for it has ended; those that were cancelled before count on, as above.
    private var forgotten = 0
    /// While some are forgotten, nothing can be said to be unwanted.
    var isOverfull: Bool { forgotten > 0 }

    /// There are some, and of each of them it may be that nobody asks for it any more.
    var holdsOnlyDoubtful: Bool { all.isEmpty && (!cancelled.isEmpty || isOverfull) }

    init(limit: Int) {
        self.limit = limit
    }

    mutating func take(_ change: ZMQSubscription) {
        switch change {
        case .added(let prefix): add(prefix)
        case .removed(let prefix): remove(prefix)
        case .cancelled(let prefix): cancel(prefix)
        }
    }

    private mutating func add(_ prefix: [UInt8]) {
        guard prefix.count <= Self.longestTopic, !all.contains(prefix) else { return }
        if cancelled.remove(prefix) == nil {
            guard all.count + cancelled.count < limit else {
                forgotten += 1
                return
            }
            lengths[prefix.count] += 1
        }
        all.insert(prefix)
    }

    private mutating func remove(_ prefix: [UInt8]) {
        guard prefix.count <= Self.longestTopic else { return }
        if all.remove(prefix) != nil || cancelled.remove(prefix) != nil {
            lengths[prefix.count] -= 1
        } else {
            forgotten = max(0, forgotten - 1)
        }
    }

    private mutating func cancel(_ prefix: [UInt8]) {
        if all.remove(prefix) != nil { cancelled.insert(prefix) }
    }

    /// O(lengths that occur).
    func wants(_ topic: [UInt8]) -> Bool {
        if isOverfull { return true }
        for length in 0...min(topic.count, Self.longestTopic) where lengths[length] > 0 {
            let prefix = Array(topic[..<length])
            if all.contains(prefix) || cancelled.contains(prefix) { return true }
        }
        return false
    }
}
