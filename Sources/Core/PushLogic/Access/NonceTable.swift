/// The remembered nonces of all keys: a hash table of marks, in which each mark also belongs to a list, such as that of
/// a second. It grows by a bucket at a time, so that no insertion takes long. Its memory is reused and never returned.
struct NonceTable: Sendable {
    /// The end of a chain or a list.
    static let end = UInt32.max

    private struct Entry: Sendable {
        var mark: NonceHash
        /// The next entry of the bucket, or of the free entries.
        var nextInBucket: UInt32
        /// The next entry of the list to which the mark belongs.
        var nextInList: UInt32
    }

    private static let pageBits: UInt32 = 10
    private static let firstBuckets: UInt32 = 64

    /// Pages, so that growth does not copy entries.
    private var pages: [[Entry]] = []
    private var free = NonceTable.end
    private var used: UInt32 = 0
    private var buckets = [UInt32](repeating: NonceTable.end, count: Int(NonceTable.firstBuckets))
    /// The number of buckets before the current doubling. Buckets from 0 to `split` are already split.
    private var base = NonceTable.firstBuckets
    private var split: UInt32 = 0
    private(set) var count = 0

    // MARK: Entries

    private subscript(index: UInt32) -> Entry {
        get { pages[Int(index >> Self.pageBits)][Int(index & (1 << Self.pageBits - 1))] }
        set { pages[Int(index >> Self.pageBits)][Int(index & (1 << Self.pageBits - 1))] = newValue }
    }

    private mutating func newEntry(_ entry: Entry) -> UInt32 {
        count += 1
        if free != Self.end {
            let index = free
            free = self[index].nextInBucket
            self[index] = entry
            return index
        }
        let index = used
        used += 1
        if index & (1 << Self.pageBits - 1) == 0 {
            var page: [Entry] = []
            page.reserveCapacity(1 << Self.pageBits)
            pages.append(page)
        }
        pages[Int(index >> Self.pageBits)].append(entry)
        return index
    }

    // MARK: Buckets

    private func bucket(of mark: NonceHash) -> Int {
        let hash = UInt32(truncatingIfNeeded: mark.low)
        let index = hash & (base - 1)
        return Int(index < split ? hash & (2 * base - 1) : index)
    }

    func contains(_ mark: NonceHash) -> Bool {
        var index = buckets[bucket(of: mark)]
        while index != Self.end {
            let entry = self[index]
            if entry.mark == mark { return true }
            index = entry.nextInBucket
        }
        return false
    }

    /// Inserts a mark that is not in the table, at the front of the list that begins with `head`. Returns the new head.
    mutating func insert(_ mark: NonceHash, before head: UInt32) -> UInt32 {
        if count >= buckets.count { splitNext() }
        let place = bucket(of: mark)
        let index = newEntry(Entry(mark: mark, nextInBucket: buckets[place], nextInList: head))
        buckets[place] = index
        return index
    }

    /// Removes the first mark of a list. Returns the new head.
    mutating func removeFirst(_ head: UInt32) -> UInt32 {
        let entry = self[head]
        let place = bucket(of: entry.mark)
        if buckets[place] == head {
            buckets[place] = entry.nextInBucket
        } else {
            var index = buckets[place]
            while index != Self.end, self[index].nextInBucket != head { index = self[index].nextInBucket }
            if index != Self.end { self[index].nextInBucket = entry.nextInBucket }
        }
        self[head].nextInBucket = free
        free = head
        count -= 1
        return entry.nextInList
    }

    /// Splits one bucket into two (linear hashing).
    private mutating func splitNext() {
        var index = buckets[Int(split)]
        var (low, high) = (Self.end, Self.end)
        while index != Self.end {
            let next = self[index].nextInBucket
            if UInt32(truncatingIfNeeded: self[index].mark.low) & base == 0 {
                self[index].nextInBucket = low
                low = index
            } else {
                self[index].nextInBucket = high
                high = index
            }
            index = next
        }
        buckets[Int(split)] = low
        buckets.append(high)
        split += 1
        if split == base { (base, split) = (base * 2, 0) }
    }
}
