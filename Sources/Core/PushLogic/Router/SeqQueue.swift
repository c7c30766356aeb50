/// A queue of message numbers, eight bytes each. The numbers are in chunks that are freed as they are used up, so that
/// a queue of millions is never copied to grow.
package struct SeqQueue: Sendable {
    private static let chunkSize = 1024

    private var chunks: [[UInt64]] = []
    /// The first chunk in use. Its numbers before index `head` are used up.
    private var firstChunk = 0
    private var head = 0
    /// The numbers that were put back, in reverse order. They come before all others.
    private var returned: [UInt64] = []
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// The number of bytes that the queue occupies.
    package var reservedBytes: Int {
        8 * (chunks.reduce(0) { $0 + $1.capacity } + returned.capacity) + MemoryLayout<[UInt64]>.size * chunks.capacity
    }

    package mutating func append(_ seq: UInt64) {
        if chunks.last.map({ $0.count == Self.chunkSize }) ?? true {
            var chunk: [UInt64] = []
            // Most lanes hold few messages, so the first chunk starts small.
            if !chunks.isEmpty { chunk.reserveCapacity(Self.chunkSize) }
            chunks.append(chunk)
        }
        chunks[chunks.count - 1].append(seq)
        count += 1
    }

    /// Inserts numbers at the front, in their order.
    package mutating func putBack(_ seqs: some BidirectionalCollection<UInt64>) {
        returned.append(contentsOf: seqs.reversed())
        count += seqs.count
    }

    /// Removes at most `limit` numbers from the front and returns them.
    package mutating func take(_ limit: Int) -> [UInt64] {
        let limit = min(limit, count)
        var taken: [UInt64] = []
        taken.reserveCapacity(limit)
        while taken.count < limit, let seq = returned.popLast() { taken.append(seq) }
        if returned.isEmpty { returned = [] }
        while taken.count < limit, firstChunk < chunks.count {
            let chunk = chunks[firstChunk]
            let end = min(chunk.count, head + limit - taken.count)
            taken.append(contentsOf: chunk[head..<end])
            head = end
            if head == chunk.count { dropFirstChunk() }
        }
        count -= taken.count
        return taken
    }

    /// Removes the numbers for which `isMeant` returns true.
    mutating func removeAll(where isMeant: (UInt64) -> Bool) {
        var kept = SeqQueue()
        while true {
            let some = take(Self.chunkSize)
            if some.isEmpty { break }
            for seq in some where !isMeant(seq) { kept.append(seq) }
        }
        self = kept
    }

    private mutating func dropFirstChunk() {
        chunks[firstChunk] = []
        firstChunk += 1
        head = 0
        if firstChunk == chunks.count {
            chunks = []
            firstChunk = 0
        } else if firstChunk >= 64, firstChunk * 2 >= chunks.count {
            chunks.removeFirst(firstChunk)
            firstChunk = 0
        }
    }
}
