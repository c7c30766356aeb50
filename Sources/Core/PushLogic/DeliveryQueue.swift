package import PushModel
package import PushTime

/// A queue of deliveries: new ones are appended, and those that are sent again are prepended. It is a ring buffer that
/// grows as needed; its owner limits its size.
package struct DeliveryQueue: Sendable {
    private var ring: [Delivery?] = []
    private var head = 0
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    package mutating func append(_ delivery: Delivery) {
        if count == ring.count { reserve(count + 1) }
        ring[index(at: count)] = delivery
        count += 1
    }

    package mutating func append(_ deliveries: ArraySlice<Delivery>) {
        reserve(count + deliveries.count)
        for delivery in deliveries {
            ring[index(at: count)] = delivery
            count += 1
        }
    }

    /// Inserts deliveries at the front, in their order.
    package mutating func prepend(_ deliveries: [Delivery]) {
        reserve(count + deliveries.count)
        for delivery in deliveries.reversed() {
            head = index(at: ring.count - 1)
            ring[head] = delivery
            count += 1
        }
    }

    package mutating func prepend(_ delivery: Delivery) {
        reserve(count + 1)
        head = index(at: ring.count - 1)
        ring[head] = delivery
        count += 1
    }

    package mutating func popFirst() -> Delivery? {
        guard count > 0 else { return nil }
        // Unlike `take()`, this does not copy the delivery, and so counts no references.
        var first: Delivery?
        swap(&ring[head], &first)
        head = index(at: 1)
        count -= 1
        return first
    }

    /// Removes deliveries from the front until `limit` of them may be sent, and returns those. Passes those that may
    /// not be sent, because they have expired or their message was cancelled, to `drop`.
    package mutating func take(upTo limit: Int, at time: WallTime, drop: (Delivery) -> Void) -> [Delivery] {
        var taken: [Delivery] = []
        taken.reserveCapacity(min(limit, count))
        while taken.count < limit, let delivery = popFirst() {
            if delivery.mayBegin(at: time) { taken.append(delivery) } else { drop(delivery) }
        }
        return taken
    }

    /// Removes the deliveries of cancelled messages, in one pass.
    package mutating func removeWithdrawn() -> [Delivery] { removeAll { $0.message.isWithdrawn } }

    /// Removes the deliveries for which `isMeant` returns true, and returns them in their order.
    mutating func removeAll(where isMeant: (Delivery) -> Bool) -> [Delivery] {
        var removed: [Delivery] = []
        for _ in 0..<count {
            guard let delivery = popFirst() else { break }
            if isMeant(delivery) { removed.append(delivery) } else { append(delivery) }
        }
        return removed
    }

    package mutating func removeExpired(at time: WallTime, expire: (Delivery) -> Void) {
        for _ in 0..<count {
            guard let delivery = popFirst() else { return }
            if delivery.isExpired(at: time) { expire(delivery) } else { append(delivery) }
        }
    }

    private func index(at offset: Int) -> Int { (head + offset) & (ring.count - 1) }

    /// Makes room for at least `needed` deliveries. The capacity is always a power of two.
    private mutating func reserve(_ needed: Int) {
        guard needed > ring.count else { return }
        var capacity = 16
        while capacity < needed { capacity *= 2 }
        var larger: [Delivery?] = []
        larger.reserveCapacity(capacity)
        for offset in 0..<count { larger.append(ring[index(at: offset)]) }
        larger.append(contentsOf: repeatElement(nil, count: capacity - count))
        ring = larger
        head = 0
    }
}
