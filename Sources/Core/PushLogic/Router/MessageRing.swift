/// A queue of messages that are in memory.
struct MessageRing: Sendable {
    // The ring is filled up with some handle, which is never read.
    private static let none = MessageHandle(slot: 0, generation: 0)

    private var ring: [MessageHandle] = []
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var first: MessageHandle? { count == 0 ? nil : ring[head] }

    mutating func append(_ message: MessageHandle) {
        if count == ring.count { grow() }
        ring[(head + count) & (ring.count - 1)] = message
        count += 1
    }

    mutating func prepend(_ message: MessageHandle) {
        if count == ring.count { grow() }
        head = (head - 1) & (ring.count - 1)
        ring[head] = message
        count += 1
    }

    mutating func popFirst() -> MessageHandle? {
        guard count > 0 else { return nil }
        let message = ring[head]
        head = (head + 1) & (ring.count - 1)
        count -= 1
        return message
    }

    mutating func popLast() -> MessageHandle? {
        guard count > 0 else { return nil }
        count -= 1
        return ring[(head + count) & (ring.count - 1)]
    }

    /// Removes the messages for which `isMeant` returns true, and returns them in their order.
    mutating func removeAll(where isMeant: (MessageHandle) -> Bool) -> [MessageHandle] {
        var removed: [MessageHandle] = []
        for _ in 0..<count {
            guard let message = popFirst() else { break }
            if isMeant(message) { removed.append(message) } else { append(message) }
        }
        return removed
    }

    func contains(_ message: MessageHandle) -> Bool {
        (0..<count).contains { ring[(head + $0) & (ring.count - 1)] == message }
    }

    /// Doubles the capacity, which is always a power of two.
    private mutating func grow() {
        let capacity = max(16, ring.count * 2)
        var larger: [MessageHandle] = []
        larger.reserveCapacity(capacity)
        for offset in 0..<count { larger.append(ring[(head + offset) & (ring.count - 1)]) }
        larger.append(contentsOf: repeatElement(Self.none, count: capacity - count))
        ring = larger
        head = 0
    }
}
