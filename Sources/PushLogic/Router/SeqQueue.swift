/// Numbers of messages in order, eight bytes each however many there are: they lie in chunks that are let go as they are
/// used up, so that a queue of millions is never copied to grow.
package struct SeqQueue: Sendable {
    private static let chunkSize = 1024

    private var chunks: [[UInt64]] = []
    /// Chunks before this one are used up, and in it the numbers before `head`.
    private var firstChunk = 0
    private var head = 0
    /// What was put back: goes before all else, the last of it first.
    private var returned: [UInt64] = []
    package private(set) var count = 0

    package init() {}

    package init(_ seqs: [UInt64]) {
        for seq in seqs { append(seq) }
    }

    package var isEmpty: Bool { count == 0 }

    /// What it has of the memory.
    package var reservedBytes: Int {
        8 * (chunks.reduce(0) { $0 + $1.capacity } + returned.capacity) + MemoryLayout<[UInt64]>.size * chunks.capacity
    }

    package mutating func append(_ seq: UInt64) {
        if chunks.last.map({ $0.count == Self.chunkSize }) ?? true {
            var chunk: [UInt64] = []
            // Most lanes hold little most of the time.
            if !chunks.isEmpty { chunk.reserveCapacity(Self.chunkSize) }
            chunks.append(chunk)
        }
        chunks[chunks.count - 1].append(seq)
        count += 1
    }

    /// The first of them becomes the first of all.
    package mutating func putBack(_ seqs: some BidirectionalCollection<UInt64>) {
        returned.append(contentsOf: seqs.reversed())
        count += seqs.count
    }

    /// At most `limit` from the front.
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
