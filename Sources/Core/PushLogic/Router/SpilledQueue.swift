/// The numbers of messages that wait on disk, in order. The queue can be scanned a part at a time and keeps its order.
package struct SpilledQueue: Sendable {
    /// The numbers that were scanned in this round. They come before the others.
    private var passed = SeqQueue()
    private var rest = SeqQueue()

    package init() {}

    package var count: Int { passed.count + rest.count }
    package var isEmpty: Bool { passed.isEmpty && rest.isEmpty }
    package var reservedBytes: Int { passed.reservedBytes + rest.reservedBytes }

    /// Whether ``look(_:)`` would begin the next round.
    var isLookedThrough: Bool { rest.isEmpty }

    /// Whether ``look(_:)`` would begin with the first of all numbers.
    var beginsRound: Bool { passed.isEmpty || rest.isEmpty }

    /// Removes the numbers for which `isMeant` returns true, and returns how many it had.
    mutating func removeAll(where isMeant: (UInt64) -> Bool) -> Int {
        let before = count
        passed.removeAll(where: isMeant)
        rest.removeAll(where: isMeant)
        return before - count
    }

    package mutating func append(_ seq: UInt64) { rest.append(seq) }

    /// Inserts numbers at the front, in their order.
    package mutating func putBack(_ seqs: some BidirectionalCollection<UInt64>) { passed.putBack(seqs) }

    /// Removes at most `limit` numbers from the front and returns them.
    package mutating func take(_ limit: Int) -> [UInt64] {
        if passed.isEmpty { return rest.take(limit) }
        let first = passed.take(limit)
        return first.count < limit ? first + rest.take(limit - first.count) : first
    }

    /// Takes at most `limit` numbers that come next in this round, or starts the next round. The caller passes numbers
    /// that stay to ``pass(_:)``, and numbers that it did not look at to ``unlook(_:)``.
    package mutating func look(_ limit: Int) -> [UInt64] {
        if rest.isEmpty { swap(&passed, &rest) }
        return rest.take(limit)
    }

    package mutating func pass(_ seqs: some Sequence<UInt64>) {
        for seq in seqs { passed.append(seq) }
    }

    /// Puts numbers back, so that the scan continues with them.
    package mutating func unlook(_ seqs: [UInt64]) { rest.putBack(seqs) }
}
