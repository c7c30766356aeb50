package import PushModel

/// A set of device ids in 16 bytes a slot: open addressing, and no tombstones.
///
/// Ids that the registry gave are keyed hashes, but ids that producers name are what they like: where one goes is
/// reckoned with a seed that nobody outside knows.
package struct DeviceIDTable: Sendable {
    private static let seed = UInt64.random(in: 0 ... .max)
    /// The id of zeros marks a slot that is free; that one id has a place of its own.
    private static let free = DeviceID(high: 0, low: 0)
    private static let smallest = 16

    private var slots: [DeviceID] = []
    private var hasFree = false
    package private(set) var count = 0

    package init() {}

    /// With room for so many: until then it does not grow.
    package init(reserving count: Int) {
        var size = Self.smallest
        while size / 5 * 4 < count { size *= 2 }
        slots = Array(repeating: Self.free, count: size)
    }

    package var byteCount: Int { slots.count * MemoryLayout<DeviceID>.stride }

    package func contains(_ id: DeviceID) -> Bool {
        if slots.isEmpty || id == Self.free { return id == Self.free && hasFree }
        return slots[place(of: id)] == id
    }

    /// Whether it was not there.
    @discardableResult
    package mutating func insert(_ id: DeviceID) -> Bool {
        if id == Self.free {
            if hasFree { return false }
            hasFree = true
            count += 1
            return true
        }
        // At four fifths a look-up of what is there takes three slots, of what is not thirteen, most of one cache line.
        if (count + 1) * 5 > slots.count * 4 { grow() }
        let place = place(of: id)
        if slots[place] == id { return false }
        slots[place] = id
        count += 1
        return true
    }

    /// Whether it was there.
    @discardableResult
    package mutating func remove(_ id: DeviceID) -> Bool {
        if id == Self.free {
            defer { hasFree = false }
            if hasFree { count -= 1 }
            return hasFree
        }
        guard !slots.isEmpty else { return false }
        var hole = place(of: id)
        guard slots[hole] == id else { return false }
        count -= 1
        // Who comes behind may have been pushed past the slot that is free now.
        let mask = slots.count - 1
        var next = hole
        while true {
            next = (next + 1) & mask
            let other = slots[next]
            if other == Self.free { break }
            let home = home(of: other)
            if (next - home) & mask >= (next - hole) & mask {
                slots[hole] = other
                hole = next
            }
        }
        slots[hole] = Self.free
        return true
    }

    private func home(of id: DeviceID) -> Int {
        Int(truncatingIfNeeded: id.tableHash(seed: Self.seed)) & (slots.count - 1)
    }

    /// Where it is, or would be.
    private func place(of id: DeviceID) -> Int {
        let mask = slots.count - 1
        var place = home(of: id)
        while slots[place] != id, slots[place] != Self.free { place = (place + 1) & mask }
        return place
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: Self.free, count: max(Self.smallest, old.count * 2))
        for id in old where id != Self.free { slots[place(of: id)] = id }
    }
}
