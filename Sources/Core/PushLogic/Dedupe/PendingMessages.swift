/// The messages that are not done, in the rows in which they are stored, without scheduled messages. A row is removed
/// when its last message is done.
package struct PendingMessages {
    /// One bit per message of a row. Without load most rows hold one message and need no heap memory.
    struct Bits {
        private var first: UInt64 = 0
        private var others: [UInt64] = []

        subscript(index: Int) -> Bool {
            get {
                let word = index < 64 ? first : index / 64 <= others.count ? others[index / 64 - 1] : 0
                return word >> UInt64(index & 63) & 1 == 1
            }
            set {
                let bit: UInt64 = 1 << UInt64(index & 63)
                if index < 64 {
                    first = newValue ? first | bit : first & ~bit
                    return
                }
                while others.count < index / 64 { others.append(0) }
                others[index / 64 - 1] = newValue ? others[index / 64 - 1] | bit : others[index / 64 - 1] & ~bit
            }
        }
    }

    /// One row of messages.
    package struct Segment {
        package let first: UInt64
        package let count: Int
        var open = 0
        /// The bit of a message is set while the message is not done.
        var isOpen = Bits()
        /// The bit of a message is set if its own key claims its only device.
        var isSingle = Bits()

        package init(first: UInt64, count: Int) {
            self.first = first
            self.count = count
        }

        package mutating func add(_ index: Int, claims needsClaim: Bool) {
            isOpen[index] = true
            if !needsClaim { isSingle[index] = true }
            open += 1
        }
    }

    /// The rows, in the order of their numbers.
    private var segments: [Segment] = []
    /// The number of rows that are done but not removed yet.
    private var gone = 0
    private var last = 0
    package private(set) var count = 0

    mutating func append(_ segment: Segment) {
        // Skip rows without unfinished messages.
        if segment.open == 0 { return }
        segments.append(segment)
        count += segment.open
    }

    package func contains(_ seq: UInt64) -> Bool {
        guard let index = index(of: seq) else { return false }
        let offset = Int(seq - segments[index].first)
        return segments[index].isOpen[offset]
    }

    /// Returns those of the numbers, which ascend, whose messages are not done.
    package func open(among seqs: [UInt64]) -> [UInt64] {
        var index = 0
        return seqs.filter { seq in
            while index < segments.count, !covers(seq, in: segments[index]), segments[index].first < seq { index += 1 }
            guard index < segments.count, covers(seq, in: segments[index]) else { return false }
            return segments[index].isOpen[Int(seq - segments[index].first)]
        }
    }

    /// Returns the first number of the row that contains the message; nil if the row is done or unknown.
    package func row(of seq: UInt64) -> UInt64? {
        guard let index = index(of: seq), segments[index].open > 0 else { return nil }
        return segments[index].first
    }

    /// The first numbers of the rows that have unfinished messages, ascending.
    package var rows: [UInt64] { segments.lazy.filter { $0.open > 0 }.map(\.first) }

    /// Returns whether the devices of a message are claimed one by one; nil for a message that does not wait in a row,
    /// such as a scheduled one, whose number may lie between those of a row.
    mutating func needsClaim(_ seq: UInt64) -> Bool? {
        guard let index = find(seq) else { return nil }
        let offset = Int(seq - segments[index].first)
        if segments[index].isSingle[offset] { return false }
        return segments[index].isOpen[offset] ? true : nil
    }

    /// Notes that the message is for one device, which its own key claims. Numbers in no row are ignored.
    mutating func setNeedsNoClaim(_ seq: UInt64) {
        guard let index = find(seq) else { return }
        let offset = Int(seq - segments[index].first)
        if segments[index].isOpen[offset] { segments[index].isSingle[offset] = true }
    }

    enum Completion: Equatable {
        case done
        /// The message was the last of its row, which begins with this number.
        case rowDone(UInt64)
        /// The message is in no row or was already done.
        case unknown
    }

    mutating func complete(_ seq: UInt64) -> Completion {
        guard let index = find(seq) else { return .unknown }
        let offset = Int(seq - segments[index].first)
        guard segments[index].isOpen[offset] else { return .unknown }
        segments[index].isOpen[offset] = false
        segments[index].open -= 1
        count -= 1
        if segments[index].open > 0 { return .done }
        gone += 1
        return .rowDone(segments[index].first)
    }

    /// Undoes a completion.
    mutating func reopen(_ seq: UInt64) {
        guard let index = find(seq) else { return }
        let offset = Int(seq - segments[index].first)
        guard !segments[index].isOpen[offset] else { return }
        segments[index].isOpen[offset] = true
        if segments[index].open == 0 { gone -= 1 }
        segments[index].open += 1
        count += 1
    }

    /// Removes rows that are done once there are many of them. Their completions cannot be undone afterwards.
    mutating func compact() {
        guard gone > 0, gone == segments.count || gone > 16 && 2 * gone > segments.count else { return }
        segments.removeAll { $0.open == 0 }
        gone = 0
        last = 0
    }

    /// Returns the first number of a row that overlaps the given range and has unfinished messages.
    func openRow(from first: UInt64, count: Int) -> UInt64? {
        guard count > 0 else { return nil }
        let end = first &+ UInt64(count)
        var index = lowerBound(first)
        if index > 0 { index -= 1 }
        while index < segments.count, segments[index].first < end {
            let segment = segments[index]
            if segment.open > 0, segment.first &+ UInt64(segment.count) > first { return segment.first }
            index += 1
        }
        return nil
    }

    // MARK: Lookup

    private mutating func find(_ seq: UInt64) -> Int? {
        // Successive calls mostly concern the same row.
        if last < segments.count, covers(seq, in: segments[last]) { return last }
        guard let index = index(of: seq) else { return nil }
        last = index
        return index
    }

    private func covers(_ seq: UInt64, in segment: Segment) -> Bool {
        seq >= segment.first && seq - segment.first < UInt64(segment.count)
    }

    private func index(of seq: UInt64) -> Int? {
        guard seq < .max else { return nil }
        let index = lowerBound(seq + 1) - 1
        return index >= 0 && covers(seq, in: segments[index]) ? index : nil
    }

    /// Returns the index of the first segment that begins at `seq` or later.
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
