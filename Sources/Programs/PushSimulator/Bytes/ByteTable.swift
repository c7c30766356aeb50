/// A table of values whose keys are byte strings. Looking up a borrowed key allocates nothing.
///
/// The table uses open addressing over entries in insertion order. Operations take expected O(1) time. A removed entry
/// keeps its slot until the next rebuild.
struct ByteTable<Value> {
    private struct Entry {
        var key: [UInt8]
        var hash: UInt64
        var value: Value?
    }

    private var entries: [Entry] = []
    /// The hash slots. A slot holds one more than an index into `entries`; 0 marks a free slot. The number of slots is
    /// a power of two, and at most half of them are used.
    private var slots: [UInt32] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Returns the index of a key in `entries`, which is also the argument of `value(at:)`.
    func index(of key: ByteView) -> Int? {
        if count == 0 { return nil }
        let hash = key.hash()
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 {
            let index = Int(slots[slot]) - 1
            if entries[index].hash == hash, entries[index].value != nil, key.equals(entries[index].key) {
                return index
            }
            slot = (slot + 1) & mask
        }
        return nil
    }

    subscript(key: ByteView) -> Value? {
        guard let index = index(of: key) else { return nil }
        return entries[index].value
    }

    subscript(key: [UInt8]) -> Value? { ByteView.lending(key) { self[$0] } }

    mutating func set(_ value: Value, for key: [UInt8]) {
        if let index = ByteView.lending(key, to: { index(of: $0) }) {
            entries[index].value = value
            return
        }
        if 2 * (entries.count + 1) > slots.count { rebuild(room: count + 1) }
        let hash = ByteView.lending(key) { $0.hash() }
        entries.append(Entry(key: key, hash: hash, value: value))
        count += 1
        link(entries.count - 1)
    }

    @discardableResult
    mutating func remove(_ key: [UInt8]) -> Value? {
        guard let index = ByteView.lending(key, to: { index(of: $0) }) else { return nil }
        count -= 1
        return entries[index].value.take()
    }

    mutating func removeAll() { self = ByteTable() }

    /// Calls `body` for each entry, in the order in which the keys were first set.
    func forEach(_ body: ([UInt8], Value) -> Void) {
        for entry in entries {
            if let value = entry.value { body(entry.key, value) }
        }
    }

    private mutating func link(_ index: Int) {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: entries[index].hash) & mask
        while slots[slot] != 0 { slot = (slot + 1) & mask }
        slots[slot] = UInt32(index + 1)
    }

    private mutating func rebuild(room: Int) {
        entries.removeAll { $0.value == nil }
        var size = 16
        while size < 4 * room { size *= 2 }
        slots = Array(repeating: 0, count: size)
        for index in entries.indices { link(index) }
    }
}
