/// What subscribers of the publishing socket ask for.
struct SubscribedPrefixes {
    /// `family/app/kind`: with an app of 64 bytes, no topic is longer. What is asked for beyond it matches nothing.
    static let longestTopic = 96

    private let limit: Int
    private(set) var all: Set<[UInt8]> = []
    /// By length, how many there are.
    private var lengths = [Int](repeating: 0, count: longestTopic + 1)
    /// Some were not remembered, so that nothing can be said to be unwanted any more. It stays so: which of them are
    /// still there would have to be remembered.
    private(set) var isOverfull = false

    init(limit: Int) {
        self.limit = limit
    }

    mutating func add(_ prefix: [UInt8]) {
        guard prefix.count <= Self.longestTopic, !all.contains(prefix) else { return }
        guard all.count < limit else {
            isOverfull = true
            return
        }
        all.insert(prefix)
        lengths[prefix.count] += 1
    }

    mutating func remove(_ prefix: [UInt8]) {
        if all.remove(prefix) != nil { lengths[prefix.count] -= 1 }
    }

    /// O(lengths that occur).
    func wants(_ topic: [UInt8]) -> Bool {
        if isOverfull { return true }
        for length in 0...min(topic.count, Self.longestTopic) where lengths[length] > 0 {
            if all.contains(Array(topic[..<length])) { return true }
        }
        return false
    }
}
