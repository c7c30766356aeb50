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
/// its shard, whose memory has `slotSize` bytes for each.
@safe
package final class FingerprintTable {
    @unsafe
    private struct Shard {
        /// The slots. Each has the low bits of a fingerprint, and in place of the others the highest bits of its number;
        /// this word is 0 only in an empty slot. In a table with values, the other 32 bits of the number follow, so that
        /// most entries are in one line of the cache.
        var slots: UnsafeMutableRawPointer?
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
    private let slotSize: Int
    // A pointer because the compiler checks accesses to other stored properties of a class for exclusivity, which takes a
    // sixth of the time of filling a table.
    private let totals: UnsafeMutablePointer<Totals>

    package init(hasValues: Bool, space: NumberSpace = .whole) {
        self.hasValues = hasValues
        slotSize = hasValues ? 12 : 8
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
            unsafe shards[index].slots?.deallocate()
        }
        unsafe shards.deallocate()
        unsafe totals.deallocate()
    }

    package var count: Int { unsafe totals.pointee.count }

    /// The number of bytes that the slots occupy.
    package var byteCount: Int { unsafe totals.pointee.capacity * slotSize }

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
        guard hasValues, let slots = unsafe shard.pointee.slots else { return nil }
        let value = unsafe slots.loadUnaligned(fromByteOffset: slot * slotSize + 8, as: UInt32.self)
        return unsafe space.base | (self.key(at: slot, in: slots) & low) << 32 | UInt64(value)
    }

    /// Prefetches the slots of these fingerprints, so that later look-ups of each find them in the cache.
    func warm(_ fingerprints: some Sequence<UInt64>) {
        var sum: UInt64 = 0
        for fingerprint in fingerprints {
            let shard = unsafe shards[self.shard(fingerprint)]
            guard let slots = unsafe shard.slots else { continue }
            unsafe sum |= self.key(at: Self.home(of: key(fingerprint), capacity: shard.capacity), in: slots)
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
            unsafe store(key, value, at: slot, in: shard)
        } else {
            unsafe add(key, value: value, at: slot, in: shard)
        }
    }

    /// Removes a fingerprint. Returns whether it was in the table.
    @discardableResult
    package func remove(_ fingerprint: UInt64) -> Bool {
        let key = self.key(fingerprint)
        let shard = unsafe shards + self.shard(fingerprint)
        guard unsafe shard.pointee.count > 0, let slots = unsafe shard.pointee.slots else { return false }
        let found = unsafe slot(of: key, in: shard)
        guard found.isFound else { return false }
        let capacity = unsafe shard.pointee.capacity
        var hole = found.slot
        var next = hole
        while true {
            next = next + 1 == capacity ? 0 : next + 1
            let candidate = unsafe self.key(at: next, in: slots)
            if candidate == 0 { break }
            // The entry moves back unless its home slot lies after the hole.
            let home = Self.home(of: candidate, capacity: capacity)
            let isReachable = hole <= next ? home <= hole || home > next : home <= hole && home > next
            guard isReachable else { continue }
            unsafe (slots + hole * slotSize).copyMemory(from: slots + next * slotSize, byteCount: slotSize)
            hole = next
        }
        unsafe (slots + hole * slotSize).storeBytes(of: 0, as: UInt64.self)
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
        guard let slots = unsafe shard.pointee.slots else { return (0, false) }
        let capacity = unsafe shard.pointee.capacity
        var slot = Self.home(of: key, capacity: capacity)
        while true {
            let found = unsafe self.key(at: slot, in: slots)
            if found == 0 { return (slot, false) }
            if found & ~low == key { return (slot, true) }
            slot = slot + 1 == capacity ? 0 : slot + 1
        }
    }

    private func key(at slot: Int, in slots: UnsafeMutableRawPointer) -> UInt64 {
        unsafe slots.loadUnaligned(fromByteOffset: slot * slotSize, as: UInt64.self)
    }

    private func store(_ key: UInt64, _ value: UInt64, at slot: Int, in shard: UnsafeMutablePointer<Shard>) {
        guard let start = unsafe shard.pointee.slots.map({ unsafe $0 + slot * slotSize }) else { return }
        unsafe start.storeBytes(of: key | value >> 32, as: UInt64.self)
        guard hasValues else { return }
        unsafe start.storeBytes(of: UInt32(truncatingIfNeeded: value), toByteOffset: 8, as: UInt32.self)
    }

    private func add(_ key: UInt64, value: UInt64, at slot: Int, in shard: UnsafeMutablePointer<Shard>) {
        unsafe store(key, value, at: slot, in: shard)
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
        let slots = UnsafeMutableRawPointer.allocate(byteCount: capacity * slotSize, alignment: 8)
        unsafe slots.initializeMemory(as: UInt32.self, repeating: 0, count: capacity * slotSize / 4)
        unsafe shard.pointee.slots = unsafe slots
        unsafe shard.pointee.capacity = capacity
        unsafe totals.pointee.capacity += capacity - old.capacity
        guard let before = unsafe old.slots else { return }
        for index in unsafe 0..<old.capacity {
            let key = unsafe self.key(at: index, in: before)
            if key == 0 { continue }
            let slot = unsafe slot(of: key & ~low, in: shard).slot
            unsafe (slots + slot * slotSize).copyMemory(from: before + index * slotSize, byteCount: slotSize)
        }
        unsafe before.deallocate()
    }
}
