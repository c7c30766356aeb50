/// Values with sizes, of which the least recently used are removed when they exceed a bound.
struct RecentList<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Node: Sendable {
        var value: Value
        var size: Int
        var older: Key?
        var newer: Key?
    }

    private var nodes: [Key: Node] = [:]
    private var oldest: Key?
    private var newest: Key?
    private(set) var size = 0
    let maxSize: Int

    init(maxSize: Int) { self.maxSize = maxSize }

    var keys: some Collection<Key> { nodes.keys }

    /// Returns a value without using it.
    func peek(_ key: Key) -> Value? { nodes[key]?.value }

    /// Returns a value, and makes it the most recently used one.
    mutating func use(_ key: Key) -> Value? {
        guard let node = nodes[key] else { return nil }
        unlink(key)
        link(key, node: node)
        return node.value
    }

    /// Sets a value, and returns the keys that were removed for it: its own if it is larger than the bound.
    mutating func set(_ key: Key, to value: Value, size: Int) -> [Key] {
        remove(key)
        guard size <= maxSize else { return [key] }
        link(key, node: Node(value: value, size: size))
        self.size += size
        var removed: [Key] = []
        while self.size > maxSize, let oldest {
            remove(oldest)
            removed.append(oldest)
        }
        return removed
    }

    mutating func remove(_ key: Key) {
        guard let node = nodes[key] else { return }
        unlink(key)
        nodes[key] = nil
        size -= node.size
    }

    private mutating func unlink(_ key: Key) {
        guard let node = nodes[key] else { return }
        if let older = node.older { nodes[older]?.newer = node.newer } else { oldest = node.newer }
        if let newer = node.newer { nodes[newer]?.older = node.older } else { newest = node.older }
    }

    private mutating func link(_ key: Key, node: Node) {
        var node = node
        node.older = newest
        node.newer = nil
        nodes[key] = node
        if let newest { nodes[newest]?.newer = key } else { oldest = key }
        newest = key
    }
}
