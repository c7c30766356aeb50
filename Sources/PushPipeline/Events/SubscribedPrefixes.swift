/// What subscribers of the publishing socket ask for.
struct SubscribedPrefixes {
    /// `family/app/kind`: with an app of 64 bytes, no topic is longer. What is asked for beyond it matches nothing.
    static let longestTopic = 96

    private let limit: Int
    private(set) var all: Set<[UInt8]> = []
    /// Those that were asked for and are not any more, as far as libzmq tells; it tells so as well when a peer cancels
    /// what it never asked for, though others still want it. So they are rendered as before, and libzmq decides who gets
    /// it.
    private var cancelled: Set<[UInt8]> = []
    /// By length, how many there are of both.
    private var lengths = [Int](repeating: 0, count: longestTopic + 1)
    /// Some were not remembered, so that nothing can be said to be unwanted any more. It stays so: which of them are
    /// still there would have to be remembered.
    private(set) var isOverfull = false

    init(limit: Int) {
        self.limit = limit
    }

    mutating func add(_ prefix: [UInt8]) {
        guard prefix.count <= Self.longestTopic, !all.contains(prefix) else { return }
        if cancelled.remove(prefix) == nil {
            guard all.count + cancelled.count < limit else {
                isOverfull = true
                return
            }
            lengths[prefix.count] += 1
        }
        all.insert(prefix)
    }

    mutating func remove(_ prefix: [UInt8]) {
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
