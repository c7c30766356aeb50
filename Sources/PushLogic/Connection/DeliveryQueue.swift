package import PushModel

/// Deliveries in order, first in, first out, in one run of memory that is used again.
package struct DeliveryQueue {
    private var storage: [Delivery?]
    private var head = 0
    package private(set) var count = 0

    /// The capacity is rounded up to a power of two, and grows when it has to.
    package init(minimumCapacity: Int = 16) {
        var capacity = 16
        while capacity < minimumCapacity { capacity *= 2 }
        storage = Array(repeating: nil, count: capacity)
    }

    package var isEmpty: Bool { count == 0 }

    package mutating func append(_ delivery: Delivery) {
        if count == storage.count { grow() }
        storage[(head + count) & (storage.count - 1)] = delivery
        count += 1
    }

    package mutating func append(contentsOf deliveries: [Delivery]) {
        for delivery in deliveries { append(delivery) }
    }

    /// Before all others: what has waited already does not wait again.
    package mutating func prepend(_ delivery: Delivery) {
        if count == storage.count { grow() }
        head = (head + storage.count - 1) & (storage.count - 1)
        storage[head] = delivery
        count += 1
    }

    package mutating func popFirst() -> Delivery? {
        guard count > 0 else { return nil }
        let first = storage[head].take()
        head = (head + 1) & (storage.count - 1)
        count -= 1
        return first
    }

    private mutating func grow() {
        var larger = [Delivery?](repeating: nil, count: storage.count * 2)
        for index in 0..<count { larger[index] = storage[(head + index) & (storage.count - 1)] }
        storage = larger
        head = 0
    }
}
