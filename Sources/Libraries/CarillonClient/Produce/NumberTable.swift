/// A hash table for keys that a stranger cannot choose: serial numbers, and seeded hashes.
///
/// A producer looks up each message several times on its way. `Dictionary` would hash the number with care each time,
/// and would copy a value with its references for each change of a member.
struct NumberTable<Value> {
    fileprivate struct Entry {
        let key: UInt64
        var value: Value
    }

    /// The values, without gaps and in no order.
    private var entries: [Entry] = []
    /// The positions in `entries`, or -1. Their number is a power of two, and at most half of them are in use. That of a
    /// key is the first one that was free from the place on which the key names.
    private var places: [Int32] = []

    private static var minPlaces: Int { 16 }

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    /// The value of a key.
    subscript(key: UInt64) -> Value? {
        get { position(of: key).map { entries[$0].value } }
        set {
            if let newValue { insert(newValue, forKey: key) } else { remove(key) }
        }
    }

    /// The value at a position that ``position(of:)`` returned since the last change of the table. It is not copied.
    subscript(at position: Int) -> Value {
        @inline(__always) _read { yield entries[position].value }
        @inline(__always) _modify { yield &entries[position].value }
    }

    /// Returns the position of a key; nil if it is not there.
    func position(of key: UInt64) -> Int? {
        place(of: key).map { Int(places[$0]) }
    }

    /// Calls `body` for each value, in no order.
    func forEach(_ body: (UInt64, Value) -> Void) {
        for entry in entries { body(entry.key, entry.value) }
    }

    /// Removes and returns the value of a key.
    @discardableResult
    mutating func remove(_ key: UInt64) -> Value? {
        guard let place = place(of: key) else { return nil }
        let position = places[place]
        closeGap(at: place)
        // The last entry moves to the free position.
        let last = entries.count - 1
        if position < last, let moved = self.place(of: entries[last].key) {
            places[moved] = position
            entries.swapAt(Int(position), last)
        }
        return entries.removeLast().value
    }

    private mutating func insert(_ value: Value, forKey key: UInt64) {
        if let position = position(of: key) {
            entries[position].value = value
            return
        }
        if 2 * (count + 1) > places.count { grow() }
        entries.append(Entry(key: key, value: value))
        setPlace(of: key, to: count - 1)
    }

    // MARK: Places

    /// Serial numbers would lie side by side, and ``closeGap(at:)`` would visit them all. The product spreads them.
    @inline(__always)
    private func home(of key: UInt64) -> Int {
        Int(truncatingIfNeeded: (key &* 0x9e37_79b9_7f4a_7c15) >> 32) & (places.count - 1)
    }

    private func place(of key: UInt64) -> Int? {
        guard !entries.isEmpty else { return nil }
        var place = home(of: key)
        while places[place] >= 0 {
            if entries[Int(places[place])].key == key { return place }
            place = (place + 1) & (places.count - 1)
        }
        return nil
    }

    private mutating func setPlace(of key: UInt64, to position: Int) {
        var place = home(of: key)
        while places[place] >= 0 { place = (place + 1) & (places.count - 1) }
        places[place] = Int32(truncatingIfNeeded: position)
    }

    private mutating func grow() {
        places = Array(repeating: -1, count: max(Self.minPlaces, 2 * places.count))
        for (position, entry) in entries.enumerated() { setPlace(of: entry.key, to: position) }
    }

    /// Frees a place, and moves those behind it that would not be found behind a free one.
    private mutating func closeGap(at freed: Int) {
        var gap = freed
        var place = (gap + 1) & (places.count - 1)
        while places[place] >= 0 {
            let distance = (place - home(of: entries[Int(places[place])].key)) & (places.count - 1)
            if distance >= (place - gap) & (places.count - 1) {
                places[gap] = places[place]
                gap = place
            }
            place = (place + 1) & (places.count - 1)
        }
        places[gap] = -1
    }
}

extension NumberTable: Sendable where Value: Sendable {}
extension NumberTable.Entry: Sendable where Value: Sendable {}
