/// A queue of indices into a table.
struct PlaceRing: Sendable {
    private var ring: [Int32] = []
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var first: Int? { count == 0 ? nil : Int(ring[head]) }

    mutating func append(_ place: Int) {
        if count == ring.count { grow() }
        ring[(head + count) & (ring.count - 1)] = Int32(place)
        count += 1
    }

    mutating func prepend(_ place: Int) {
        if count == ring.count { grow() }
        head = (head - 1) & (ring.count - 1)
        ring[head] = Int32(place)
        count += 1
    }

    mutating func popFirst() -> Int? {
        guard count > 0 else { return nil }
        let place = ring[head]
        head = (head + 1) & (ring.count - 1)
        count -= 1
        return Int(place)
    }

    mutating func popLast() -> Int? {
        guard count > 0 else { return nil }
        count -= 1
        return Int(ring[(head + count) & (ring.count - 1)])
    }

    /// Doubles the capacity, which is always a power of two.
    private mutating func grow() {
        var larger: [Int32] = []
        larger.reserveCapacity(max(16, ring.count * 2))
        for offset in 0..<count { larger.append(ring[(head + offset) & (ring.count - 1)]) }
        larger.append(contentsOf: repeatElement(0, count: max(16, ring.count * 2) - count))
        ring = larger
        head = 0
    }
}
