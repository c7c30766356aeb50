import PushModel

/// Deliveries in order: added at the end, taken from the front.
struct DeliveryQueue: Sendable {
    private var storage: [Delivery] = []
    private var head = 0

    var count: Int { storage.count - head }
    var isEmpty: Bool { head == storage.count }

    mutating func append(_ delivery: Delivery) {
        storage.append(delivery)
    }

    mutating func popFirst() -> Delivery? {
        guard head < storage.count else { return nil }
        defer {
            head += 1
            // Moved down when half is gone, so that each delivery is moved once or twice.
            if head >= 256, head * 2 >= storage.count {
                storage.removeFirst(head)
                head = 0
            }
        }
        return storage[head]
    }
}
