package import PushModel

/// A set of device ids with 16 bytes a slot: open addressing without tombstones.
///
/// Ids from the registry are keyed hashes, but producers may name arbitrary ids. Therefore the slot depends on a seed
/// that only this process knows.
package struct DeviceIDTable: Sendable {
    private static let seed = UInt64.random(in: 0 ... .max)
    /// The id of zeros marks a free slot; whether that id itself is in the set is stored in `hasFree`.
    private static let free = DeviceID(high: 0, low: 0)
    private static let minSlots = 16

    private var slots: [DeviceID] = []
    private var hasFree = false
    package private(set) var count = 0

    package init() {}

    /// Creates a table that does not grow until it holds `count` ids.
    package init(reserving count: Int) {
        var size = Self.minSlots
        while size / 5 * 4 < count { size *= 2 }
        slots = Array(repeating: Self.free, count: size)
    }

    package var byteCount: Int { slots.count * MemoryLayout<DeviceID>.stride }

    package func contains(_ id: DeviceID) -> Bool {
        if slots.isEmpty || id == Self.free { return id == Self.free && hasFree }
        return slots[slot(of: id)] == id
    }

    /// Adds an id. Returns whether it is new.
    @discardableResult
    package mutating func insert(_ id: DeviceID) -> Bool {
        if id == Self.free {
            if hasFree { return false }
            hasFree = true
            count += 1
            return true
        }
        // With four fifths of the slots in use, a hit takes three probes and a miss thirteen, most of them in one cache
        // line.
        if (count + 1) * 5 > slots.count * 4 { grow() }
        let slot = slot(of: id)
        if slots[slot] == id { return false }
        slots[slot] = id
        count += 1
        return true
    }

    /// Removes an id. Returns whether it was in the set.
    @discardableResult
    package mutating func remove(_ id: DeviceID) -> Bool {
        if id == Self.free {
            defer { hasFree = false }
            if hasFree { count -= 1 }
            return hasFree
        }
        guard !slots.isEmpty else { return false }
        var hole = slot(of: id)
        guard slots[hole] == id else { return false }
        count -= 1
        // Later ids may have been placed after this slot because it was taken. They move back.
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

    /// Returns the slot of an id, or the free slot where it would be inserted.
    private func slot(of id: DeviceID) -> Int {
        let mask = slots.count - 1
        var slot = home(of: id)
        while slots[slot] != id, slots[slot] != Self.free { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: Self.free, count: max(Self.minSlots, old.count * 2))
        for id in old where id != Self.free { slots[slot(of: id)] = id }
    }
}
