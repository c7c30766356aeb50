/// Millions of 64-bit fingerprints, each with or without a number of its own: 8 bytes a slot or 12, at most four fifths
/// of the slots in use.
///
/// Fingerprints are keyed hashes, so their bits are as good as random: the highest 13 choose a shard, the others a slot.
/// Those 13 need not stand in the slot: the highest bits of the number stand there instead.
/// Each shard grows by itself and by a quarter, so that growing never holds two tables of everything at once, which a
/// table of one piece does. Removal moves later entries back: there are no graves.
package final class FingerprintTable {
    private struct Shard {
        /// 51 bits of a fingerprint, and 13 of its number. Never 0 where there is one.
        var keys: UnsafeMutablePointer<UInt64>?
        /// 32 bits more of the number.
        var values: UnsafeMutablePointer<UInt32>?
        var capacity = 0
        var count = 0
    }

    private static let shardBits: UInt64 = 13
    private static let low: UInt64 = 1 << shardBits - 1
    /// Larger numbers have no room.
    package static let maximumValue: UInt64 = 1 << 45 - 1

    private static let firstCapacity = 8

    private let shards: UnsafeMutablePointer<Shard>
    private let hasValues: Bool
    package private(set) var count = 0
    /// Or the compiler would see that nobody wants to know.
    private var warmed: UInt64 = 0

    package init(hasValues: Bool) {
        self.hasValues = hasValues
        shards = .allocate(capacity: 1 << Self.shardBits)
        shards.initialize(repeating: Shard(), count: 1 << Self.shardBits)
    }

    deinit {
        for index in 0..<(1 << Self.shardBits) {
            shards[index].keys?.deallocate()
            shards[index].values?.deallocate()
        }
        shards.deallocate()
    }

    /// What the slots take.
    package var byteCount: Int {
        (0..<(1 << Self.shardBits)).reduce(0) { $0 + shards[$1].capacity * (hasValues ? 12 : 8) }
    }

    package func contains(_ fingerprint: UInt64) -> Bool {
        // The shards alone fill a cache.
        if count == 0 { return false }
        let key = Self.key(fingerprint)
        let shard = shards + Self.shard(fingerprint)
        return shard.pointee.count > 0 && slot(of: key, in: shard).isFound
    }

    /// The number that belongs to a fingerprint.
    package func value(of fingerprint: UInt64) -> UInt64? {
        let key = Self.key(fingerprint)
        let shard = shards + Self.shard(fingerprint)
        guard shard.pointee.count > 0 else { return nil }
        let (slot, isFound) = slot(of: key, in: shard)
        return isFound ? number(at: slot, in: shard) : nil
    }

    private func number(at slot: Int, in shard: UnsafeMutablePointer<Shard>) -> UInt64? {
        guard let keys = shard.pointee.keys, let values = shard.pointee.values else { return nil }
        return (keys[slot] & Self.low) << 32 | UInt64(values[slot])
    }

    /// Looks at where these belong, so that the memory is near when they are asked for one by one.
    package func warm(_ fingerprints: [UInt64]) {
        var sum: UInt64 = 0
        for fingerprint in fingerprints {
            let shard = shards[Self.shard(fingerprint)]
            guard let keys = shard.keys else { continue }
            sum |= keys[Self.home(Self.key(fingerprint), shard.capacity)]
        }
        warmed = sum
    }

    /// Makes room for so many in all, so that to fill it moves nothing.
    package func reserve(_ total: Int) {
        // Shards differ: one of a thousand fingerprints may have a tenth more than its share.
        let share = Double(total) / Double(1 << Self.shardBits)
        let capacity = Int(1.25 * (share + 4 * share.squareRoot())) + 2
        for index in 0..<(1 << Self.shardBits) where shards[index].capacity < capacity {
            grow(shards + index, to: capacity)
        }
    }

    /// Adds it with its number, unless it is there: then its number is returned, and nothing changes.
    package func add(_ value: UInt64, for fingerprint: UInt64) -> UInt64? {
        precondition(value <= Self.maximumValue, "the number \(value) has no room")
        let key = Self.key(fingerprint)
        let shard = shards + Self.shard(fingerprint)
        makeRoom(in: shard)
        let (slot, isFound) = slot(of: key, in: shard)
        if isFound { return number(at: slot, in: shard) }
        add(key, value, at: slot, in: shard)
        return nil
    }

    /// Whether it was not there before.
    @discardableResult
    package func insert(_ fingerprint: UInt64) -> Bool {
        let key = Self.key(fingerprint)
        let shard = shards + Self.shard(fingerprint)
        makeRoom(in: shard)
        let (slot, isFound) = slot(of: key, in: shard)
        if isFound { return false }
        add(key, 0, at: slot, in: shard)
        return true
    }

    /// Adds it, or replaces its number.
    package func set(_ value: UInt64, for fingerprint: UInt64) {
        precondition(value <= Self.maximumValue, "the number \(value) has no room")
        let key = Self.key(fingerprint)
        let shard = shards + Self.shard(fingerprint)
        makeRoom(in: shard)
        let (slot, isFound) = slot(of: key, in: shard)
        if isFound {
            shard.pointee.keys?[slot] = key | value >> 32
            shard.pointee.values?[slot] = UInt32(truncatingIfNeeded: value)
        } else {
            add(key, value, at: slot, in: shard)
        }
    }

    /// Whether it was there.
    @discardableResult
    package func remove(_ fingerprint: UInt64) -> Bool {
        let key = Self.key(fingerprint)
        let shard = shards + Self.shard(fingerprint)
        guard shard.pointee.count > 0, let keys = shard.pointee.keys else { return false }
        let found = slot(of: key, in: shard)
        guard found.isFound else { return false }
        let capacity = shard.pointee.capacity
        var hole = found.slot
        var next = hole
        while true {
            next = next + 1 == capacity ? 0 : next + 1
            let candidate = keys[next]
            if candidate == 0 { break }
            // It may move back unless the place where it belongs lies behind the hole.
            let home = Self.home(candidate, capacity)
            let isReachable = hole <= next ? home <= hole || home > next : home <= hole && home > next
            guard isReachable else { continue }
            keys[hole] = candidate
            if let values = shard.pointee.values { values[hole] = values[next] }
            hole = next
        }
        keys[hole] = 0
        shard.pointee.count -= 1
        count -= 1
        return true
    }

    // MARK: Slots

    /// As it stands in a slot, its number's bits zero. All zero marks an empty slot.
    private static func key(_ fingerprint: UInt64) -> UInt64 {
        let key = fingerprint << shardBits
        return key == 0 ? 1 << shardBits : key
    }

    private static func shard(_ fingerprint: UInt64) -> Int { Int(fingerprint >> (64 - shardBits)) }

    static func home(_ key: UInt64, _ capacity: Int) -> Int {
        Int((((key >> (shardBits + 10)) & 0xffff_ffff) &* UInt64(capacity)) >> 32)
    }

    @inline(__always)
    private func slot(of key: UInt64, in shard: UnsafeMutablePointer<Shard>) -> (slot: Int, isFound: Bool) {
        guard let keys = shard.pointee.keys else { return (0, false) }
        let capacity = shard.pointee.capacity
        var slot = Self.home(key, capacity)
        while keys[slot] != 0 {
            if keys[slot] & ~Self.low == key { return (slot, true) }
            slot = slot + 1 == capacity ? 0 : slot + 1
        }
        return (slot, false)
    }

    private func add(_ key: UInt64, _ value: UInt64, at slot: Int, in shard: UnsafeMutablePointer<Shard>) {
        shard.pointee.keys?[slot] = key | value >> 32
        shard.pointee.values?[slot] = UInt32(truncatingIfNeeded: value)
        shard.pointee.count += 1
        count += 1
    }

    private func makeRoom(in shard: UnsafeMutablePointer<Shard>) {
        let old = shard.pointee
        guard 5 * (old.count + 1) > 4 * old.capacity else { return }
        grow(shard, to: max(Self.firstCapacity, old.capacity + old.capacity / 4))
    }

    private func grow(_ shard: UnsafeMutablePointer<Shard>, to capacity: Int) {
        let old = shard.pointee
        let keys = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
        keys.initialize(repeating: 0, count: capacity)
        shard.pointee.keys = keys
        shard.pointee.values = hasValues ? .allocate(capacity: capacity) : nil
        shard.pointee.capacity = capacity
        for index in 0..<old.capacity {
            guard let key = old.keys?[index], key != 0 else { continue }
            let slot = slot(of: key & ~Self.low, in: shard).slot
            keys[slot] = key
            if let values = old.values { shard.pointee.values?[slot] = values[index] }
        }
        old.keys?.deallocate()
        old.values?.deallocate()
    }
}
