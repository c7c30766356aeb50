/// The bookkeeping of a spool: its files, the number of bytes in them, and the records that are acknowledged.
struct SpoolMachine {
    struct Segment: Equatable {
        /// The number of its first record, which is its name.
        let first: UInt64
        var bytes: Int64
    }

    let maxBytes: Int64
    let segmentBytes: Int64
    private(set) var segments: [Segment] = []
    /// The number of the next record.
    private(set) var next: UInt64
    /// The number of the first record that is not acknowledged. All records before it are.
    private(set) var cursor: UInt64
    /// The acknowledged records after the cursor. The window of the producer bounds their number.
    private var acknowledged: Set<UInt64> = []
    /// The records after the cursor that were given up, ascending.
    private var lost: [ClosedRange<UInt64>] = []

    /// - Parameters:
    ///   - cursor: The number that was stored, or 1.
    ///   - last: The number of the last record in the files; 0 if there is none.
    init(maxBytes: Int64, segmentBytes: Int64, segments: [Segment], cursor: UInt64, last: UInt64) {
        self.maxBytes = maxBytes
        self.segmentBytes = segmentBytes
        self.segments = segments
        next = max(last &+ 1, cursor, 1)
        // Files are removed when all of their records are acknowledged, so an old cursor lags behind the first file.
        self.cursor = max(1, min(cursor, next), segments.first?.first ?? 1)
    }

    var bytes: Int64 { segments.reduce(0) { $0 + $1.bytes } }
    /// The number of records that are not acknowledged, at most: damage is noticed when they are read.
    var count: UInt64 { lost.reduce(next - cursor) { $0 - ($1.upperBound - $1.lowerBound + 1) } }

    /// The place of a new record.
    enum Place: Equatable {
        case last
        case newSegment(first: UInt64)
        case full
    }

    /// Returns the place for the next record, and counts it. The caller writes it, or calls ``undo(to:)``.
    mutating func add(_ length: Int) -> Place {
        guard bytes + Int64(length) <= maxBytes else { return .full }
        let number = next
        defer { next += 1 }
        if let last = segments.last, last.bytes == 0 || last.bytes + Int64(length) <= segmentBytes {
            segments[segments.count - 1].bytes += Int64(length)
            return .last
        }
        segments.append(Segment(first: number, bytes: Int64(length)))
        return .newSegment(first: number)
    }

    /// Forgets records that could not be written, by returning to an earlier state.
    mutating func undo(to earlier: SpoolMachine) { self = earlier }

    /// Marks a record as acknowledged. Returns whether the cursor moved.
    mutating func acknowledge(_ number: UInt64) -> Bool {
        guard number >= cursor, number < next else { return false }
        acknowledged.insert(number)
        return advance()
    }

    /// Gives up records that were damaged. Their numbers are above those of all earlier calls.
    mutating func lose(_ numbers: ClosedRange<UInt64>) {
        guard numbers.lowerBound >= cursor, numbers.upperBound < next else { return }
        lost.append(numbers)
        _ = advance()
    }

    /// Moves the cursor over what has ended.
    private mutating func advance() -> Bool {
        let before = cursor
        while true {
            if acknowledged.remove(cursor) != nil {
                cursor += 1
            } else if let numbers = lost.first, numbers.contains(cursor) {
                cursor = numbers.upperBound + 1
                lost.removeFirst()
            } else {
                return cursor != before
            }
        }
    }

    /// Removes the segments whose records are all acknowledged, and returns them.
    mutating func removeDone() -> [Segment] {
        var done: [Segment] = []
        while let first = segments.first {
            let end = segments.count > 1 ? segments[1].first : next
            guard end <= cursor else { break }
            done.append(first)
            segments.removeFirst()
        }
        return done
    }
}
