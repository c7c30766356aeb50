import Glibc

/// Reads the records of one file of a spool in their order.
///
/// A damaged record does not end the file: the next whole one is read. If the length is intact, that one must be where
/// it leads, with the following number. Otherwise it is searched for, with one of the numbers that may follow.
struct SpoolReader {
    enum Step {
        case record(SpoolRecord)
        /// A record is damaged, or more than one, and a whole one follows.
        case damaged
        /// No whole record follows.
        case broken
        /// A record is damaged, and it is not known whether a whole one follows: the search would take too long.
        case gaveUp
        /// The system refuses to read the file, perhaps only now.
        case failed
        case end
    }

    private enum Found {
        case whole(SpoolRecord, end: Int64)
        /// The end is where the next record should be; nil if the length is not that of a record in this file.
        case damaged(end: Int64?)
        case failed
    }

    private let descriptor: CInt
    private let size: Int64
    /// The place of the next record.
    private(set) var offset: Int64
    /// The number of the next record, if none is missing before it.
    private(set) var number: UInt64
    private var chunk: [UInt8] = []
    private var chunkStart: Int64 = 0

    private static let chunkBytes: Int64 = 1 << 20
    /// The bytes whose checksums one search computes, at most. A message may be made of what look like heads of records.
    private static let maxEffort = 2 * SpoolRecord.maxBody

    /// Creates a reader for the bytes up to `size`. The caller closes the file.
    init(_ descriptor: CInt, from offset: Int64, number: UInt64, size: Int64) {
        self.descriptor = descriptor
        self.offset = offset
        self.number = number
        self.size = size
    }

    mutating func next() -> Step {
        guard offset < size else { return .end }
        switch find(at: offset) {
        case .failed: return .failed
        case .whole(let record, let end):
            (offset, number) = (end, record.number &+ 1)
            return .record(record)
        case .damaged(let end):
            guard let end else { return search() }
            switch find(at: end) {
            case .failed: return .failed
            case .whole(let record, _) where record.number == number &+ 1:
                (offset, number) = (end, record.number)
                return .damaged
            case .whole, .damaged: return search()
            }
        }
    }

    /// Looks for a whole record at each of the following bytes. JSON has no byte that is as low as the last one of a
    /// length, so in a message that Carillon accepts, there is nothing that looks like a record.
    private mutating func search() -> Step {
        var effort = Self.maxEffort
        var place = offset + 1
        while size - place > Int64(SpoolRecord.startLength), effort > 0 {
            guard load(Int64(SpoolRecord.startLength), at: place) else { return .failed }
            let start = SpoolRecord.start(chunk, at: Int(place - chunkStart))
            // A file has fewer records than bytes.
            if let (length, found) = start, found &- number < UInt64(size), size - place > Int64(length) {
                effort -= length
                switch find(at: place) {
                case .failed: return .failed
                case .whole:
                    (offset, number) = (place, found)
                    return .damaged
                case .damaged: break
                }
            }
            place += 1
        }
        return effort > 0 ? .broken : .gaveUp
    }

    /// Passes over what cannot be read.
    mutating func skip(to end: Int64) { offset = max(offset, end) }

    private mutating func find(at place: Int64) -> Found {
        let head = Int64(SpoolRecord.headLength)
        guard size - place > head else { return .damaged(end: nil) }
        guard load(head, at: place) else { return .failed }
        guard let length = SpoolRecord.bodyLength(chunk, at: Int(place - chunkStart)),
            size - place - head >= Int64(length)
        else { return .damaged(end: nil) }
        let end = place + head + Int64(length)
        guard load(end - place, at: place) else { return .failed }
        guard let (record, _) = SpoolRecord.read(chunk, at: Int(place - chunkStart)) else { return .damaged(end: end) }
        return .whole(record, end: end)
    }

    /// Makes the chunk hold a number of bytes from a place on, which are in the file.
    private mutating func load(_ count: Int64, at place: Int64) -> Bool {
        if place >= chunkStart, place + count <= chunkStart + Int64(chunk.count) { return true }
        let wanted = min(max(count, Self.chunkBytes), size - place)
        chunk = DiskFile.read(descriptor, from: place, count: wanted)
        chunkStart = place
        return Int64(chunk.count) == wanted
    }
}
