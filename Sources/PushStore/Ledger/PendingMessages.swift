/// Which messages of the ledger's rows are not done yet. A row of messages goes when its last one is done.
struct PendingMessages {
    struct Segment {
        let first: UInt64
        let count: Int
        var open: Int
        /// A bit for each message: set while it is not done.
        var isOpen: [UInt64]
        /// A bit for each: set if its devices are claimed one by one.
        var claims: [UInt64]

        init(first: UInt64, count: Int) {
            self.first = first
            self.count = count
            open = 0
            isOpen = Array(repeating: 0, count: (count + 63) / 64)
            claims = isOpen
        }

        mutating func add(_ index: Int, claims needsClaim: Bool) {
            isOpen[index >> 6] |= 1 << UInt64(index & 63)
            if needsClaim { claims[index >> 6] |= 1 << UInt64(index & 63) }
            open += 1
        }
    }

    /// In the order of their numbers. The first `gone` of them are done, and wait to be removed together.
    private var segments: [Segment] = []
    private var last = 0
    private(set) var count = 0

    mutating func append(_ segment: Segment) {
        segments.append(segment)
        count += segment.open
    }

    func contains(_ seq: UInt64) -> Bool {
        guard let index = index(of: seq) else { return false }
        let place = Int(seq - segments[index].first)
        return segments[index].isOpen[place >> 6] >> UInt64(place & 63) & 1 == 1
    }

    /// Whether its devices are claimed one by one; true for what is not in the rows, as scheduled messages are not.
    mutating func needsClaim(_ seq: UInt64) -> Bool {
        guard let index = find(seq) else { return true }
        let place = Int(seq - segments[index].first)
        return segments[index].claims[place >> 6] >> UInt64(place & 63) & 1 == 1
    }

    enum Completion: Equatable {
        case done
        /// It was the last of its row, which begins with this number.
        case rowDone(UInt64)
        /// It is in no row, or was done before.
        case unknown
    }

    mutating func complete(_ seq: UInt64) -> Completion {
        guard let index = find(seq) else { return .unknown }
        let place = Int(seq - segments[index].first)
        let bit: UInt64 = 1 << UInt64(place & 63)
        guard segments[index].isOpen[place >> 6] & bit != 0 else { return .unknown }
        segments[index].isOpen[place >> 6] &= ~bit
        segments[index].open -= 1
        count -= 1
        return segments[index].open == 0 ? .rowDone(segments[index].first) : .done
    }

    /// Takes a completion back.
    mutating func reopen(_ seq: UInt64) {
        guard let index = find(seq) else { return }
        let place = Int(seq - segments[index].first)
        segments[index].isOpen[place >> 6] |= 1 << UInt64(place & 63)
        segments[index].open += 1
        count += 1
    }

    /// Forgets rows that are done.
    mutating func compact() {
        guard segments.contains(where: { $0.open == 0 }) else { return }
        segments.removeAll { $0.open == 0 }
        last = 0
    }

    /// Whether any message of these numbers is not done.
    func hasOpen(from first: UInt64, count: Int) -> Bool {
        guard count > 0 else { return false }
        let end = first + UInt64(count)
        var index = lowerBound(first)
        if index > 0 { index -= 1 }
        while index < segments.count, segments[index].first < end {
            if segments[index].open > 0, segments[index].first + UInt64(segments[index].count) > first { return true }
            index += 1
        }
        return false
    }

    func forEachOpen(_ body: (UInt64) -> Void) {
        for segment in segments {
            for place in 0..<segment.count where segment.isOpen[place >> 6] >> UInt64(place & 63) & 1 == 1 {
                body(segment.first + UInt64(place))
            }
        }
    }

    // MARK: Look-up

    private mutating func find(_ seq: UInt64) -> Int? {
        // What comes one after the other is mostly of one row.
        if last < segments.count, covers(segments[last], seq) { return last }
        guard let index = index(of: seq) else { return nil }
        last = index
        return index
    }

    private func covers(_ segment: Segment, _ seq: UInt64) -> Bool {
        seq >= segment.first && seq - segment.first < UInt64(segment.count)
    }

    private func index(of seq: UInt64) -> Int? {
        let index = lowerBound(seq + 1) - 1
        return index >= 0 && covers(segments[index], seq) ? index : nil
    }

    /// The first segment that begins at `seq` or later.
    private func lowerBound(_ seq: UInt64) -> Int {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].first < seq { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
