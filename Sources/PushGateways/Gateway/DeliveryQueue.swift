import PushModel
import PushTime

/// Deliveries in order: new ones at the end, those that go out again at the front. A ring that grows to its need;
/// its bound is kept by whoever fills it.
struct DeliveryQueue {
    private var ring: [Delivery?]
    private var head = 0
    private(set) var count = 0

    init(capacity: Int = 64) {
        ring = Array(repeating: nil, count: Self.powerOfTwo(atLeast: capacity))
    }

    var isEmpty: Bool { count == 0 }

    mutating func append(_ deliveries: some Collection<Delivery>) {
        reserve(count + deliveries.count)
        for delivery in deliveries {
            ring[place(count)] = delivery
            count += 1
        }
    }

    /// The first of them becomes the first of the queue.
    mutating func prepend(_ deliveries: [Delivery]) {
        reserve(count + deliveries.count)
        for delivery in deliveries.reversed() {
            head = place(ring.count - 1)
            ring[head] = delivery
            count += 1
        }
    }

    /// Takes from the front until there are `limit` that have not expired; hands those that have to `expire`.
    mutating func take(upTo limit: Int, at time: WallTime, expire: (Delivery) -> Void) -> [Delivery] {
        var taken: [Delivery] = []
        taken.reserveCapacity(min(limit, count))
        while taken.count < limit, let delivery = popFirst() {
            if delivery.message.isExpired(at: time) { expire(delivery) } else { taken.append(delivery) }
        }
        return taken
    }

    mutating func removeExpired(at time: WallTime, expire: (Delivery) -> Void) {
        for _ in 0..<count {
            guard let delivery = popFirst() else { return }
            if delivery.message.isExpired(at: time) { expire(delivery) } else { append(CollectionOfOne(delivery)) }
        }
    }

    mutating func popFirst() -> Delivery? {
        guard count > 0 else { return nil }
        let first = ring[head].take()
        head = place(1)
        count -= 1
        return first
    }

    private func place(_ offset: Int) -> Int { (head + offset) & (ring.count - 1) }

    private mutating func reserve(_ needed: Int) {
        guard needed > ring.count else { return }
        var larger: [Delivery?] = []
        larger.reserveCapacity(Self.powerOfTwo(atLeast: needed))
        for offset in 0..<count { larger.append(ring[place(offset)]) }
        larger.append(contentsOf: repeatElement(nil, count: Self.powerOfTwo(atLeast: needed) - count))
        ring = larger
        head = 0
    }

    private static func powerOfTwo(atLeast count: Int) -> Int {
        var size = 16
        while size < count { size *= 2 }
        return size
    }
}
