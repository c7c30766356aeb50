/// Finds the number of an origin by the hash of its key: a table with open addressing, which its owner never fills by more
/// than a half.
struct OriginTable {
    private struct Place {
        var hash: UInt64
        /// Negative if the place is free.
        var number: Int32
    }

    private var places: [Place]
    private let mask: Int

    init(capacity: Int) {
        var size = 16
        while size < 2 * capacity { size *= 2 }
        places = Array(repeating: Place(hash: 0, number: -1), count: size)
        mask = size - 1
    }

    private func home(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & mask }

    /// Returns the number with this hash for which `isMeant` returns true.
    func find(_ hash: UInt64, where isMeant: (Int) -> Bool) -> Int? {
        var at = home(of: hash)
        while places[at].number >= 0 {
            if places[at].hash == hash, isMeant(Int(places[at].number)) { return Int(places[at].number) }
            at = (at + 1) & mask
        }
        return nil
    }

    mutating func insert(_ number: Int, hash: UInt64) {
        var at = home(of: hash)
        while places[at].number >= 0 { at = (at + 1) & mask }
        places[at] = Place(hash: hash, number: Int32(number))
    }

    /// Removes a number, and moves those behind it so that none of them stands behind a free place.
    mutating func remove(_ number: Int, hash: UInt64) {
        var at = home(of: hash)
        while places[at].number != Int32(number) {
            guard places[at].number >= 0 else { return }
            at = (at + 1) & mask
        }
        var next = (at + 1) & mask
        while places[next].number >= 0 {
            let distance = (next - home(of: places[next].hash)) & mask
            if distance >= (next - at) & mask {
                places[at] = places[next]
                at = next
            }
            next = (next + 1) & mask
        }
        places[at].number = -1
    }
}
