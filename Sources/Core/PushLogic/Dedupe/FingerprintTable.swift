/// A table of millions of 64-bit fingerprints, each with or without a number: 8 or 12 bytes a slot, and at most four
/// fifths of the slots in use.
///
/// Fingerprints are keyed hashes, so their bits are evenly distributed: the highest, 13 in a table for a whole ledger,
/// choose a shard, the others a slot. The slot does not store those bits; the highest bits of the number take their
/// place. Each shard grows by itself and by a quarter, so that there are never two copies of the whole table, as there
/// would be with a single one.
/// A removal moves later entries back, so there are no tombstones.
///
/// The memory of the shards belongs to the table and is never passed on. Every index of a slot is below the capacity of
/// its shard, and values exist wherever keys do if the table has values.
@safe
package final class FingerprintTable {
    @unsafe
    private struct Shard {
        /// The low bits of a fingerprint, and in their place the highest bits of its number. Never 0 for an entry.
        var keys: UnsafeMutablePointer<UInt64>?
        /// The other 32 bits of the number.
        var values: UnsafeMutablePointer<UInt32>?
        var capacity = 0
        var count = 0
    }

    private struct Totals {
        var count = 0
        /// The slots of all shards.
        var capacity = 0
        /// The result of `warm`, stored so that the compiler does not remove the reads.
        var warmed: UInt64 = 0
    }

    /// The largest number that an entry of a table for a whole ledger can hold.
    package static let maximumValue: UInt64 = NumberSpace.whole.maximum

    private static let firstCapacity = 8

    private let space: NumberSpace
    private let shardBits: UInt64
    private let shardCount: Int
    private let low: UInt64
    private let shards: UnsafeMutablePointer<Shard>
    private let hasValues: Bool
    // A pointer because the compiler checks accesses to other stored properties of a class for exclusivity, which takes a
    // sixth of the time of filling a table.
    private let totals: UnsafeMutablePointer<Totals>

    package init(hasValues: Bool, space: NumberSpace = .whole) {
        self.hasValues = hasValues
        self.space = space
        shardBits = UInt64(space.shardBits)
        shardCount = 1 << space.shardBits
        low = 1 << shardBits - 1
        unsafe shards = .allocate(capacity: shardCount)
        unsafe shards.initialize(repeating: Shard(), count: shardCount)
        unsafe totals = .allocate(capacity: 1)
        unsafe totals.initialize(to: Totals())
    }

    deinit {
        for index in 0..<shardCount {
            unsafe shards[index].keys?.deallocate()
            unsafe shards[index].values?.deallocate()
        }
        unsafe shards.deallocate()
        unsafe totals.deallocate()
    }

    package var count: Int { unsafe totals.pointee.count }

    /// The number of bytes that the slots occupy.
    package var byteCount: Int { unsafe totals.pointee.capacity * (hasValues ? 12 : 8) }

    package func contains(_ fingerprint: UInt64) -> Bool {
        // This avoids a read of the shard, since the shards alone fill a cache.
        if count == 0 { return false }
        let key = self.key(fingerprint)
        let shard = unsafe shards + self.shard(fingerprint)
        return unsafe shard.pointee.count > 0 && slot(of: key, in: shard).isFound
    }

    /// Returns the number of a fingerprint.
    package func value(of fingerprint: UInt64) -> UInt64? {
        let key = self.key(fingerprint)
        let shard = unsafe shards + self.shard(fingerprint)
        guard unsafe shard.pointee.count > 0 else { return nil }
        let (slot, isFound) = unsafe slot(of: key, in: shard)
        return unsafe isFound ? number(at: slot, in: shard) : nil
    }

    private func number(at slot: Int, in shard: UnsafeMutablePointer<Shard>) -> UInt64? {
        guard let keys = unsafe shard.pointee.keys, let values = unsafe shard.pointee.values else { return nil }
        return unsafe space.base | (keys[slot] & low) << 32 | UInt64(values[slot])
    }

    /// Prefetches the slots of these fingerprints, so that later look-ups of each find them in the cache.
    func warm(_ fingerprints: some Sequence<UInt64>) {
        var sum: UInt64 = 0
        for fingerprint in fingerprints {
            let shard = unsafe shards[self.shard(fingerprint)]
            guard let keys = unsafe shard.keys else { continue }
            unsafe sum |= keys[Self.home(of: key(fingerprint), capacity: shard.capacity)]
        }
        unsafe totals.pointee.warmed = sum
    }

    /// Reserves room for `total` fingerprints, so that filling the table moves nothing.
    package func reserve(_ total: Int) {
        // Shards vary in size: with a thousand fingerprints each, one may have a tenth more than its share.
        let share = Double(total) / Double(shardCount)
        let capacity = Int(1.25 * (share + 4 * share.squareRoot())) + 2
        for index in 0..<shardCount where unsafe shards[index].capacity < capacity {
            unsafe grow(shards + index, to: capacity)
        }
    }

    /// Adds a fingerprint with its number. If the fingerprint is there already, returns its number and changes nothing.
    package func add(_ number: UInt64, for fingerprint: UInt64) -> UInt64? {
        let value = self.value(number)
        let key = self.key(fingerprint)
        let shard = unsafe shards + self.shard(fingerprint)
        unsafe makeRoom(in: shard)
        let (slot, isFound) = unsafe slot(of: key, in: shard)
        if isFound { return unsafe self.number(at: slot, in: shard) }
        unsafe add(key, value: value, at: slot, in: shard)
        return nil
    }

    /// Adds a fingerprint. Returns whether it is new.
    @discardableResult
    package func insert(_ fingerprint: UInt64) -> Bool {
        let key = self.key(fingerprint)
        let shard = unsafe shards + self.shard(fingerprint)
        unsafe makeRoom(in: shard)
        let (slot, isFound) = unsafe slot(of: key, in: shard)
        if isFound { return false }
        unsafe add(key, value: 0, at: slot, in: shard)
        return true
    }

    /// Adds a fingerprint or replaces its number.
    package func set(_ number: UInt64, for fingerprint: UInt64) {
        let value = self.value(number)
        let key = self.key(fingerprint)
        let shard = unsafe shards + self.shard(fingerprint)
        unsafe makeRoom(in: shard)
        let (slot, isFound) = unsafe slot(of: key, in: shard)
        if isFound {
            unsafe shard.pointee.keys?[slot] = key | value >> 32
            unsafe shard.pointee.values?[slot] = UInt32(truncatingIfNeeded: value)
        } else {
            unsafe add(key, value: value, at: slot, in: shard)
        }
    }

    /// Removes a fingerprint. Returns whether it was in the table.
    @discardableResult
    package func remove(_ fingerprint: UInt64) -> Bool {
        let key = self.key(fingerprint)
        let shard = unsafe shards + self.shard(fingerprint)
        guard unsafe shard.pointee.count > 0, let keys = unsafe shard.pointee.keys else { return false }
        let found = unsafe slot(of: key, in: shard)
        guard found.isFound else { return false }
        let capacity = unsafe shard.pointee.capacity
        var hole = found.slot
        var next = hole
        while true {
            next = next + 1 == capacity ? 0 : next + 1
            let candidate = unsafe keys[next]
            if candidate == 0 { break }
            // The entry moves back unless its home slot lies after the hole.
            let home = Self.home(of: candidate, capacity: capacity)
            let isReachable = hole <= next ? home <= hole || home > next : home <= hole && home > next
            guard isReachable else { continue }
            unsafe keys[hole] = candidate
            if let values = unsafe shard.pointee.values { unsafe values[hole] = unsafe values[next] }
            hole = next
        }
        unsafe keys[hole] = 0
        unsafe shard.pointee.count -= 1
        unsafe totals.pointee.count -= 1
        return true
    }

    // MARK: Slots

    /// Returns what an entry stores of a number.
    private func value(_ number: UInt64) -> UInt64 {
        precondition(space.contains(number), "the number \(number) is outside of its ledger")
        return number - space.base
    }

    /// Returns the key of a slot, in which the bits of the number are 0. A key of 0 marks an empty slot.
    private func key(_ fingerprint: UInt64) -> UInt64 {
        let key = fingerprint << shardBits
        return key == 0 ? 1 << shardBits : key
    }

    private func shard(_ fingerprint: UInt64) -> Int { Int(fingerprint >> (64 - shardBits)) }

    static func home(of key: UInt64, capacity: Int) -> Int {
        Int((((key >> 23) & 0xffff_ffff) &* UInt64(capacity)) >> 32)
    }

    @inline(__always)
    private func slot(of key: UInt64, in shard: UnsafeMutablePointer<Shard>) -> (slot: Int, isFound: Bool) {
        guard let keys = unsafe shard.pointee.keys else { return (0, false) }
        let capacity = unsafe shard.pointee.capacity
        var slot = Self.home(of: key, capacity: capacity)
        while unsafe keys[slot] != 0 {
            if unsafe keys[slot] & ~low == key { return (slot, true) }
            slot = slot + 1 == capacity ? 0 : slot + 1
        }
        return (slot, false)
    }

    private func add(_ key: UInt64, value: UInt64, at slot: Int, in shard: UnsafeMutablePointer<Shard>) {
        unsafe shard.pointee.keys?[slot] = key | value >> 32
        unsafe shard.pointee.values?[slot] = UInt32(truncatingIfNeeded: value)
        unsafe shard.pointee.count += 1
        unsafe totals.pointee.count += 1
    }

    private func makeRoom(in shard: UnsafeMutablePointer<Shard>) {
        let old = unsafe shard.pointee
        guard unsafe 5 * (old.count + 1) > 4 * old.capacity else { return }
        unsafe grow(shard, to: max(Self.firstCapacity, old.capacity + old.capacity / 4))
    }

    private func grow(_ shard: UnsafeMutablePointer<Shard>, to capacity: Int) {
        let old = unsafe shard.pointee
        let keys = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
        unsafe keys.initialize(repeating: 0, count: capacity)
        unsafe shard.pointee.keys = unsafe keys
        unsafe shard.pointee.values = hasValues ? .allocate(capacity: capacity) : nil
        unsafe shard.pointee.capacity = capacity
        unsafe totals.pointee.capacity += capacity - old.capacity
        for index in unsafe 0..<old.capacity {
            guard let key = unsafe old.keys?[index], key != 0 else { continue }
            let slot = unsafe slot(of: key & ~low, in: shard).slot
            unsafe keys[slot] = key
            if let values = unsafe old.values { unsafe shard.pointee.values?[slot] = unsafe values[index] }
        }
        unsafe old.keys?.deallocate()
        unsafe old.values?.deallocate()
    }
}
