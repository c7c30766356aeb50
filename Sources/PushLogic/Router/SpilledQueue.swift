/// Numbers of messages that wait on disk, in their order, which can be looked through a part at a time without losing it.
package struct SpilledQueue: Sendable {
    /// Those that were looked at in this round: they come before the others.
    private var passed = SeqQueue()
    private var rest = SeqQueue()

    package init() {}

    package var count: Int { passed.count + rest.count }
    package var isEmpty: Bool { passed.isEmpty && rest.isEmpty }
    package var reservedBytes: Int { passed.reservedBytes + rest.reservedBytes }

    package mutating func append(_ seq: UInt64) { rest.append(seq) }

    /// The first of them becomes the first of all.
    package mutating func putBack(_ seqs: some BidirectionalCollection<UInt64>) { passed.putBack(seqs) }

    /// At most `limit` from the front.
    package mutating func take(_ limit: Int) -> [UInt64] {
        if passed.isEmpty { return rest.take(limit) }
        let first = passed.take(limit)
        return first.count < limit ? first + rest.take(limit - first.count) : first
    }

    /// At most `limit` of those that come next in this round, or in the next one. Those that stay are given to `pass`,
    /// those that were not looked at to `unlook`.
    package mutating func look(_ limit: Int) -> [UInt64] {
        if rest.isEmpty { swap(&passed, &rest) }
        return rest.take(limit)
    }

    package mutating func pass(_ seqs: some Sequence<UInt64>) {
        for seq in seqs { passed.append(seq) }
    }

    /// They come next again.
    package mutating func unlook(_ seqs: [UInt64]) { rest.putBack(seqs) }
}
