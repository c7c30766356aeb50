import PushTransport

/// The prefixes to which clients of the publishing socket have subscribed.
struct SubscribedPrefixes {
    /// The maximum length of a topic, which is `family/app/kind` with an app of 64 bytes. A longer prefix matches no
    /// topic.
    static let longestTopic = 96

    private let limit: Int
    private(set) var all: Set<[UInt8]> = []
    /// The prefixes that a peer cancelled. A peer can cancel a prefix to which it never subscribed, although others
    /// still are subscribed. So these prefixes are still rendered, and libzmq filters. libzmq does not report when the
    /// last subscriber has gone, so they are kept until nobody is connected.
    private var cancelled: Set<[UInt8]> = []
    /// The number of prefixes of each length, in `all` and `cancelled`.
    private var lengths = [Int](repeating: 0, count: longestTopic + 1)
    /// The number of prefixes that were not remembered because of the limit. libzmq reports each of them once when it
    /// is added, and once when the last connection with it has ended. A prefix that was cancelled before stays counted,
    /// as explained above.
    private var forgotten = 0
    /// Whether some prefixes were not remembered. Then every topic counts as wanted.
    var isOverfull: Bool { forgotten > 0 }

    /// Whether there are prefixes, but possibly none of them has a subscriber any more.
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

    /// Returns whether somebody may be subscribed to the topic. The cost is O(number of distinct prefix lengths).
    func wants(_ topic: [UInt8]) -> Bool {
        if isOverfull { return true }
        for length in 0...min(topic.count, Self.longestTopic) where lengths[length] > 0 {
            let prefix = Array(topic[..<length])
            if all.contains(prefix) || cancelled.contains(prefix) { return true }
        }
        return false
    }
}
