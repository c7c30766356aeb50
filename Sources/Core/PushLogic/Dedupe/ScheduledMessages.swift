/// The scheduled messages that are not done, while a ledger is restored. There may be ten million, so they are found by
/// their order: rows of keys come in the order of their numbers, too.
struct ScheduledMessages {
    private var all: [DedupeMachine.ScheduledMessage] = []
    /// The ids of ``all``.
    private var ids: FingerprintTable?
    /// The index of the first message that is not before the rows of keys that were read.
    private var position = 0
    /// The indices of the messages whose keys no row has.
    private var unlisted: [Range<Int>] = []
    /// The messages of rows of keys that are not scheduled, but have the id of one that is. Few have.
    private var others: [UInt64: UInt64] = [:]

    var isEmpty: Bool { all.isEmpty }

    /// Adds messages, in ascending order and above those that were added before. It comes before all rows of keys.
    mutating func add(_ messages: [DedupeMachine.ScheduledMessage], space: NumberSpace) {
        let ids = self.ids ?? FingerprintTable(hasValues: false, space: space)
        self.ids = ids
        if messages.count > DedupeMachine.keysAhead { ids.reserve(ids.count + messages.count) }
        messages.forEachPart { part in
            ids.warm(part.lazy.map(\.fingerprint))
            for message in part { ids.insert(message.fingerprint) }
        }
        if all.isEmpty { all = messages } else { all += messages }
    }

    func contains(_ seq: UInt64) -> Bool {
        guard let first = all.first, let last = all.last, seq >= first.seq, seq <= last.seq else { return false }
        let index = lowerBound(seq)
        return index < all.count && all[index].seq == seq
    }

    /// Returns the number of messages before this number.
    func count(before seq: UInt64) -> Int { lowerBound(seq) }

    private func lowerBound(_ seq: UInt64) -> Int {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].seq < seq { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Rows of keys

    /// Begins a row of keys.
    mutating func beginRow(at number: UInt64) { skip(to: number) }

    private mutating func skip(to seq: UInt64) {
        let start = position
        while position < all.count, all[position].seq < seq { position += 1 }
        if start < position { unlisted.append(start..<position) }
    }

    /// Prefetches what ``recall(_:of:)`` looks up for these keys.
    func warm(_ keys: ArraySlice<AcceptedKey>, from seq: UInt64) {
        let end = position + keys.count
        // Mostly all or none of some successive messages are scheduled.
        if end <= all.count, all[position].seq == seq, all[end - 1].seq == seq &+ UInt64(keys.count - 1) { return }
        ids?.warm(keys.lazy.map(\.fingerprint))
    }

    /// Takes a message of a row of keys.
    mutating func recall(_ seq: UInt64, of fingerprint: UInt64) {
        if position < all.count, all[position].seq == seq {
            position += 1
        } else if ids?.contains(fingerprint) == true {
            others[seq] = fingerprint
        }
    }

    /// Returns the id of a message that is not scheduled, if a scheduled one has it, too.
    func id(of seq: UInt64) -> UInt64? { others.isEmpty ? nil : others[seq] }

    /// Ends the rows of keys. Calls `body` with parts of the messages that were in none, in ascending order.
    consuming func end<Failure: Error>(
        _ body: (ArraySlice<DedupeMachine.ScheduledMessage>) throws(Failure) -> Void
    ) throws(Failure) {
        skip(to: .max)
        for range in unlisted {
            var start = range.lowerBound
            while start < range.upperBound {
                let end = min(start + DedupeMachine.keysAhead, range.upperBound)
                try body(all[start..<end])
                start = end
            }
        }
    }
}

extension Array {
    fileprivate func forEachPart(_ body: (ArraySlice<Element>) -> Void) {
        for start in stride(from: 0, to: count, by: DedupeMachine.keysAhead) {
            body(self[start..<Swift.min(start + DedupeMachine.keysAhead, count)])
        }
    }
}
