import Glibc

/// Reads the records of one file of a spool in their order.
///
/// A damaged record does not end the file: if its length is intact, the next one is read. That one must have the
/// following number, so that bytes within a message are never taken for a message.
struct SpoolReader {
    enum Step {
        case record(SpoolRecord)
        /// A record is damaged, and a whole one with the next number follows.
        case damaged
        /// What follows is not a record, or not a whole one.
        case broken
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
            guard let end else { return .broken }
            switch find(at: end) {
            case .failed: return .failed
            case .whole(let record, _) where record.number == number &+ 1:
                (offset, number) = (end, record.number)
                return .damaged
            case .whole, .damaged: return .broken
            }
        }
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
