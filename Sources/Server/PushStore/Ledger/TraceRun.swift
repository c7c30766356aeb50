import PushModel
import PushWire

/// An index of a part of the log by message, device and delivery, which finds their events without reading the whole
/// log.
///
/// An entry consists of 32 bits of a hash and the index of a log row within the run. Few names share a hash; a
/// collision only costs an unnecessary read of a row.
struct TraceRun: Sendable {
    /// The number of events in a run.
    static let length: UInt64 = 131_072
    /// The number of entries in a block. Two blocks fit on a page of 8 KiB.
    static let blockEntries = 500

    /// The numbers of the run's first and last event.
    let first: UInt64
    let last: UInt64
    private let entries: [UInt64]
    private let rows: [UInt64]

    fileprivate init(first: UInt64, last: UInt64, entries: [UInt64], rows: [UInt64]) {
        self.first = first
        self.last = last
        self.entries = entries
        self.rows = rows
    }

    var blockCount: Int { (entries.count + Self.blockEntries - 1) / Self.blockEntries }

    /// Returns the entries of a block in ascending order, 8 bytes each.
    func block(_ index: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        let range = (index * Self.blockEntries)..<min((index + 1) * Self.blockEntries, entries.count)
        bytes.reserveCapacity(8 * range.count)
        for entry in entries[range] { bytes.appendWord(entry) }
        return bytes
    }

    /// The first hash of each block, 8 bytes each.
    var lows: [UInt8] {
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: entries.count, by: Self.blockEntries) {
            bytes.appendWord(entries[index] >> 32)
        }
        return bytes
    }

    /// The numbers of the log rows, each as the difference to the previous one.
    var rowNumbers: [UInt8] {
        var bytes: [UInt8] = []
        var last: UInt64 = 0
        for row in rows {
            bytes.appendVarint(row - last)
            last = row
        }
        return bytes
    }

    // MARK: Lookup

    /// Returns the blocks that may contain entries with this hash.
    static func blocks(of hash: UInt32, in lows: UnsafeRawBufferPointer) -> Range<Int> {
        let count = lows.count / 8
        func low(_ index: Int) -> UInt64 { unsafe lows.word(at: 8 * index) }
        let start = partition(count) { low($0) < UInt64(hash) }
        let end = partition(count) { low($0) <= UInt64(hash) }
        return max(0, start - 1)..<end
    }

    /// Returns whether the first hashes of the blocks ascend, as they do unless they are damaged.
    static func isInOrder(lows: UnsafeRawBufferPointer) -> Bool {
        guard lows.count % 8 == 0 else { return false }
        return (0..<lows.count / 8).allSatisfy { index in
            let low = unsafe lows.word(at: 8 * index)
            let before = unsafe index == 0 ? 0 : lows.word(at: 8 * (index - 1))
            return before <= low && low <= UInt64(UInt32.max)
        }
    }

    /// Appends the indexes of the log rows that a block lists for this hash. Returns false if the block is damaged.
    ///
    /// - Parameter low: The first hash of the block.
    static func places(of hash: UInt32, in block: UnsafeRawBufferPointer, low: UInt64, _ found: inout [Int]) -> Bool {
        let count = block.count / 8
        guard block.count % 8 == 0, (1...blockEntries).contains(count), unsafe block.word(at: 0) >> 32 == low else {
            return false
        }
        func entry(_ index: Int) -> UInt64 { unsafe block.word(at: 8 * index) }
        var index = partition(count) { entry($0) >> 32 < UInt64(hash) }
        while index < count, entry(index) >> 32 == UInt64(hash) {
            found.append(Int(UInt32(truncatingIfNeeded: entry(index))))
            index += 1
        }
        return true
    }

    /// Returns how many of the first `count` elements satisfy the condition (binary search).
    private static func partition(_ count: Int, _ isBefore: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the numbers of the log rows with these indexes, in ascending order; nil if one does not exist.
    static func rows(_ places: [Int], in numbers: UnsafeRawBufferPointer) -> [UInt64]? {
        let wanted = Set(places)
        var reader = unsafe ByteReader(numbers)
        var rows: [UInt64] = []
        var number: UInt64 = 0
        var place = 0
        while !reader.isAtEnd {
            number &+= reader.varint()
            if wanted.contains(place) { rows.append(number) }
            place += 1
        }
        return !reader.isBroken && rows.count == wanted.count ? rows : nil
    }

    static func hash(_ subject: TraceSubject) -> UInt32 {
        switch subject {
        case .message(let id, _): return hash(ofMessage: id.text)
        case .device(let device): return hash(device)
        }
    }

    static func hash(ofMessage id: String) -> UInt32 {
        var id = id
        return id.withUTF8 { unsafe hash(UnsafeRawBufferPointer($0)) }
    }

    static func hash(_ id: UnsafeRawBufferPointer) -> UInt32 {
        var hash = SipHash(key: (0, 0))
        unsafe hash.add(id)
        return UInt32(truncatingIfNeeded: hash.hash64())
    }

    static func hash(_ device: DeviceID) -> UInt32 { UInt32(truncatingIfNeeded: device.low) }

    /// Returns the hash of a delivery. Its id is a hash already.
    static func hash(_ delivery: DeliveryID) -> UInt32 { UInt32(truncatingIfNeeded: delivery.low) }
}

/// Builds a trace run from log rows in order.
struct TraceRunBuilder {
    private var entries: [UInt64] = []
    private var rows: [UInt64] = []
    private var last: UInt64 = 0

    /// Adds a log row. A damaged row is not added.
    mutating func add(_ segment: LogSegment) throws(DamagedSegment) {
        let place = UInt64(rows.count)
        var id = 0..<0
        try unsafe segment.walk { event, _, bytes in
            if let range = event.messageID, range != id {
                id = range
                let hash = unsafe TraceRun.hash(UnsafeRawBufferPointer(rebasing: bytes[range]))
                entries.append(UInt64(hash) << 32 | place)
            }
            if let device = event.device { entries.append(UInt64(TraceRun.hash(device)) << 32 | place) }
            if let id = event.deliveryID { entries.append(UInt64(TraceRun.hash(id)) << 32 | place) }
            return true
        }
        rows.append(segment.first)
        last = segment.last
    }

    var isEmpty: Bool { rows.isEmpty }

    var isFull: Bool { !rows.isEmpty && last >= (rows.first ?? 0) &+ TraceRun.length - 1 }

    /// Returns the run, or nil if nothing was added.
    consuming func finish() -> TraceRun? {
        guard let first = rows.first else { return nil }
        sort()
        var unique: [UInt64] = []
        unique.reserveCapacity(entries.count)
        for entry in entries where entry != unique.last { unique.append(entry) }
        return TraceRun(first: first, last: last, entries: unique, rows: rows)
    }

    /// Sorts the entries by hash with a radix sort of 11 bits per pass. Entries with the same hash stay in the order of
    /// the rows.
    private mutating func sort() {
        let count = entries.count
        var other = [UInt64](repeating: 0, count: count)
        for shift in [32, 43, 54] as [UInt64] {
            var starts = [Int](repeating: 0, count: 2049)
            unsafe entries.withUnsafeBufferPointer { from in
                unsafe other.withUnsafeMutableBufferPointer { to in
                    unsafe starts.withUnsafeMutableBufferPointer { starts in
                        for index in 0..<count { unsafe starts[Int(from[index] >> shift & 2047) + 1] += 1 }
                        for digit in 1..<2049 { unsafe starts[digit] += starts[digit - 1] }
                        for index in 0..<count {
                            let digit = unsafe Int(from[index] >> shift & 2047)
                            unsafe to[starts[digit]] = from[index]
                            unsafe starts[digit] += 1
                        }
                    }
                }
            }
            swap(&entries, &other)
        }
    }
}
