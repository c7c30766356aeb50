import PushModel
import PushWire

/// A part of the log sorted by messages and devices, so that what is told of one of them is found without reading the
/// rest.
///
/// An entry is 32 bits of a name's hash, and which of the run's log rows it stands in. Names that share them are few, and
/// only cost a row that is read for nothing.
struct TraceRun: Sendable {
    /// Events after which a run is made.
    static let length: UInt64 = 131_072
    /// In one row: two fit a page of 8 KiB.
    static let blockEntries = 500

    /// The numbers of the first and the last event.
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

    /// The entries of one row, ascending, 8 bytes each.
    func block(_ index: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        let range = (index * Self.blockEntries)..<min((index + 1) * Self.blockEntries, entries.count)
        bytes.reserveCapacity(8 * range.count)
        for entry in entries[range] { bytes.appendWord(entry) }
        return bytes
    }

    /// The hash that each block begins with, 8 bytes each.
    var lows: [UInt8] {
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: entries.count, by: Self.blockEntries) {
            bytes.appendWord(entries[index] >> 32)
        }
        return bytes
    }

    /// The numbers of the log rows: each as its distance from the one before it.
    var rowNumbers: [UInt8] {
        var bytes: [UInt8] = []
        var last: UInt64 = 0
        for row in rows {
            bytes.appendVarint(row - last)
            last = row
        }
        return bytes
    }

    // MARK: Looking up

    /// The blocks in which entries of this hash may stand.
    static func blocks(of hash: UInt32, in lows: UnsafeRawBufferPointer) -> Range<Int> {
        let count = lows.count / 8
        func low(_ index: Int) -> UInt64 { unsafe lows.word(at: 8 * index) }
        let start = partition(count) { low($0) < UInt64(hash) }
        let end = partition(count) { low($0) <= UInt64(hash) }
        return max(0, start - 1)..<end
    }

    /// Which of the run's rows a block names for this hash.
    static func places(of hash: UInt32, in block: UnsafeRawBufferPointer, _ found: inout [Int]) {
        let count = block.count / 8
        func entry(_ index: Int) -> UInt64 { unsafe block.word(at: 8 * index) }
        var index = partition(count) { entry($0) >> 32 < UInt64(hash) }
        while index < count, entry(index) >> 32 == UInt64(hash) {
            found.append(Int(UInt32(truncatingIfNeeded: entry(index))))
            index += 1
        }
    }

    /// How many of the first ones are so.
    private static func partition(_ count: Int, _ isBefore: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The numbers at these places, ascending.
    static func rows(_ places: [Int], in numbers: UnsafeRawBufferPointer) -> [UInt64] {
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
        return rows
    }

    static func hash(_ subject: TraceSubject) -> UInt32 {
        switch subject {
        case .message(let id):
            var text = id.text
            return text.withUTF8 { unsafe hash(UnsafeRawBufferPointer($0)) }
        case .device(let device): return hash(device)
        }
    }

    static func hash(_ id: UnsafeRawBufferPointer) -> UInt32 {
        var hash = SipHash(key: (0, 0))
        unsafe hash.add(id)
        return UInt32(truncatingIfNeeded: hash.hash64())
    }

    static func hash(_ device: DeviceID) -> UInt32 { UInt32(truncatingIfNeeded: device.low) }
}

/// Gathers a run from log rows in their order.
struct TraceRunBuilder {
    private var entries: [UInt64] = []
    private var rows: [UInt64] = []
    private var last: UInt64 = 0

    /// Of a damaged row those events that come before the damage.
    mutating func add(_ segment: LogSegment) {
        let place = UInt64(rows.count)
        rows.append(segment.first)
        last = segment.last
        var id = 0..<0
        try? unsafe segment.walk { event, _, bytes in
            if let range = event.messageID, range != id {
                id = range
                let hash = unsafe TraceRun.hash(UnsafeRawBufferPointer(rebasing: bytes[range]))
                entries.append(UInt64(hash) << 32 | place)
            }
            if let device = event.device { entries.append(UInt64(TraceRun.hash(device)) << 32 | place) }
            return true
        }
    }

    var isFull: Bool { !rows.isEmpty && last >= (rows.first ?? 0) &+ TraceRun.length - 1 }

    /// Nil if nothing was added.
    consuming func finish() -> TraceRun? {
        guard let first = rows.first else { return nil }
        sort()
        var unique: [UInt64] = []
        unique.reserveCapacity(entries.count)
        for entry in entries where entry != unique.last { unique.append(entry) }
        return TraceRun(first: first, last: last, entries: unique, rows: rows)
    }

    /// By their hashes, eleven bits at a time from the lowest; what has one hash stays in the order of the rows.
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
