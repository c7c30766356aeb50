/// The bookkeeping of a spool: its files, the number of bytes in them, and the records that were handed out and that have
/// ended, because they are acknowledged or lost.
struct SpoolMachine {
    struct Segment {
        /// The number of its first record, which is its name.
        let first: UInt64
        var bytes: Int64
        /// The number behind its last record; nil for the file that is written.
        fileprivate(set) var end: UInt64?
        fileprivate var taken = NumberSet()
        fileprivate var ended = NumberSet()
        fileprivate var endedCount: UInt64 = 0

        init(first: UInt64, bytes: Int64) {
            self.first = first
            self.bytes = bytes
        }
    }

    let maxBytes: Int64
    let segmentBytes: Int64
    private(set) var segments: [Segment] = []
    /// The number of the next record.
    private(set) var next: UInt64
    /// The number of the first record that has not ended. All records before it have.
    private(set) var cursor: UInt64
    /// The numbers after the cursor whose files are removed, ascending. There is a file between each two of them.
    private(set) var removed: [ClosedRange<UInt64>] = []
    /// The numbers after the cursor that are lost and are not those of a file, ascending.
    private var lost: [ClosedRange<UInt64>] = []
    /// The number of records that have not ended, at most: damage is noticed when they are read.
    private(set) var count: UInt64 = 0

    /// - Parameters:
    ///   - cursor: The number that was stored, or 1.
    ///   - last: The number of the last record in the files; 0 if there is none.
    ///   - removed: The stored numbers of files that were removed, ascending.
    ///   - isLastClosed: Whether new records go to a new file.
    init(
        maxBytes: Int64, segmentBytes: Int64, segments: [Segment], cursor: UInt64, last: UInt64,
        removed: [ClosedRange<UInt64>] = [], isLastClosed: Bool = false
    ) {
        self.maxBytes = maxBytes
        self.segmentBytes = segmentBytes
        self.segments = segments
        let next = max(last &+ 1, cursor, 1, (removed.last?.upperBound ?? 0) + 1)
        self.next = next
        // The first files are removed in their order, so an old cursor lags behind the first one that is left.
        self.cursor = segments.first.map { max(1, min(cursor, next), $0.first) } ?? next
        self.removed = removed
        count = next - self.cursor
        for numbers in removed where numbers.upperBound >= self.cursor {
            count -= numbers.upperBound - max(numbers.lowerBound, self.cursor) + 1
        }
        for index in segments.indices {
            let first = segments[index].first
            let following = index + 1 < segments.count ? segments[index + 1].first : nil
            let gap = removed.first { $0.lowerBound > first }?.lowerBound
            self.segments[index].end = [following ?? (isLastClosed ? next : nil), gap].compactMap { $0 }.min()
            self.segments[index].endedCount =
                min(max(self.cursor, first), self.segments[index].end ?? next) - first
        }
        advance()
    }

    var bytes: Int64 { segments.reduce(0) { $0 + $1.bytes } }

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
        defer {
            next += 1
            count += 1
        }
        if let last = segments.last, last.end == nil, number - last.first < mostNumbers(of: last),
            last.bytes == 0 || last.bytes + Int64(length) <= segmentBytes
        {
            segments[segments.count - 1].bytes += Int64(length)
            return .last
        }
        if let last = segments.last, last.end == nil { segments[segments.count - 1].end = number }
        segments.append(Segment(first: number, bytes: Int64(length)))
        return .newSegment(first: number)
    }

    /// Forgets records that could not be written, by returning to an earlier state.
    mutating func undo(to earlier: SpoolMachine) { self = earlier }

    // MARK: Records

    /// Returns the index of the file that has a number; nil if none has.
    private func segment(of number: UInt64) -> Int? {
        var (low, high) = (0, segments.count)
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].first <= number { low = middle + 1 } else { high = middle }
        }
        guard low > 0, case let segment = segments[low - 1], number < segment.end ?? next,
            number - segment.first < mostNumbers(of: segment)
        else { return nil }
        return low - 1
    }

    /// The numbers that a file may have, at most, which bounds the sets: a record has more than one byte, also one that
    /// was cut off.
    private func mostNumbers(of segment: Segment) -> UInt64 { UInt64(max(segment.bytes, segmentBytes)) }

    /// Returns the number of the first record in the file of a record.
    func firstNumber(inFileOf number: UInt64) -> UInt64? { segment(of: number).map { segments[$0].first } }

    /// Whether a record may be handed out: it was not, and has not ended.
    func isFree(_ number: UInt64) -> Bool {
        guard number >= cursor, let index = segment(of: number) else { return false }
        let place = number - segments[index].first
        return !segments[index].taken.contains(place) && !segments[index].ended.contains(place)
    }

    /// Marks a record as handed out.
    mutating func take(_ number: UInt64) {
        guard let index = segment(of: number) else { return }
        _ = segments[index].taken.insert(number - segments[index].first)
    }

    /// Marks a record as not handed out any more.
    mutating func giveBack(_ number: UInt64) {
        guard let index = segment(of: number) else { return }
        segments[index].taken.remove(number - segments[index].first)
    }

    /// Marks a record as acknowledged. Returns whether the cursor moved, or a file may be removed.
    mutating func acknowledge(_ number: UInt64) -> Bool {
        guard let index = end(number) else { return false }
        let before = cursor
        advance()
        return cursor != before || (index < segments.count - 1 && isDone(index))
    }

    /// Counts the end of a record. Returns the index of its file; nil if it had ended.
    private mutating func end(_ number: UInt64) -> Int? {
        guard number >= cursor, let index = segment(of: number),
            segments[index].ended.insert(number - segments[index].first)
        else { return nil }
        segments[index].endedCount += 1
        count -= 1
        return index
    }

    /// Gives up records that were damaged. Returns those that had not ended.
    mutating func lose(_ numbers: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        var found: [ClosedRange<UInt64>] = []
        var number = max(numbers.lowerBound, cursor)
        while number <= numbers.upperBound, number < next {
            if segment(of: number) != nil {
                if end(number) != nil {
                    if let last = found.last, last.upperBound + 1 == number {
                        found[found.count - 1] = last.lowerBound...number
                    } else {
                        found.append(number...number)
                    }
                }
                number += 1
            } else if let known = (removed + lost).first(where: { $0.contains(number) }) {
                number = known.upperBound + 1
            } else {
                let starts = segments.map { $0.first } + (removed + lost).map { $0.lowerBound } + [next]
                let last = min(numbers.upperBound, (starts.filter { $0 > number }.min() ?? next) - 1)
                loseBetweenFiles(number...last)
                found.append(number...last)
                number = last + 1
            }
        }
        advance()
        return found
    }

    private mutating func loseBetweenFiles(_ numbers: ClosedRange<UInt64>) {
        let size = numbers.upperBound - numbers.lowerBound + 1
        lost.append(numbers)
        lost.sort { $0.lowerBound < $1.lowerBound }
        count -= size
        // They count for the file before them, if that reaches so far.
        if let index = segments.lastIndex(where: { $0.first < numbers.lowerBound }),
            numbers.lowerBound < segments[index].end ?? next
        {
            segments[index].endedCount += size
        }
    }

    /// Moves the cursor over what has ended.
    private mutating func advance() {
        while cursor < next {
            while let first = lost.first, first.upperBound < cursor { lost.removeFirst() }
            while let first = removed.first, first.upperBound < cursor { removed.removeFirst() }
            if let first = lost.first, first.contains(cursor) {
                cursor = first.upperBound + 1
            } else if let first = removed.first, first.contains(cursor) {
                cursor = first.upperBound + 1
            } else if let index = segment(of: cursor), segments[index].ended.contains(cursor - segments[index].first) {
                cursor += 1
            } else {
                return
            }
        }
        (lost, removed) = ([], [])
    }

    // MARK: Files

    private func isDone(_ index: Int) -> Bool {
        segments[index].endedCount == (segments[index].end ?? next) - segments[index].first
    }

    /// Removes the files whose records have all ended, and returns them. The newest one goes only with all others:
    /// otherwise each new record would make a new file.
    ///
    /// - Parameter upToCursor: Whether only files are removed that ``removed`` need not have.
    mutating func removeDone(upToCursor: Bool = false) -> [Segment] {
        var done: [Segment] = []
        var kept: [Segment] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            let mayGo = !upToCursor || (segment.end ?? next) <= cursor
            if isDone(index), mayGo, !isLast || kept.isEmpty { done.append(segment) } else { kept.append(segment) }
        }
        segments = kept
        for segment in done {
            if let end = segment.end, end > cursor { remember(segment.first...(end - 1)) }
        }
        return done
    }

    private mutating func remember(_ numbers: ClosedRange<UInt64>) {
        removed.append(numbers)
        removed.sort { $0.lowerBound < $1.lowerBound }
        var merged: [ClosedRange<UInt64>] = []
        for numbers in removed {
            if let last = merged.last, last.upperBound + 1 == numbers.lowerBound {
                merged[merged.count - 1] = last.lowerBound...numbers.upperBound
            } else {
                merged.append(numbers)
            }
        }
        removed = merged
    }
}

/// A set of small numbers, one bit each.
private struct NumberSet {
    private var words: [UInt64] = []

    func contains(_ number: UInt64) -> Bool {
        guard number / 64 < UInt64(words.count) else { return false }
        return words[Int(number / 64)] & (1 << (number % 64)) != 0
    }

    /// Adds a number, which the caller bounds. Returns whether it was not there.
    mutating func insert(_ number: UInt64) -> Bool {
        let place = Int(number / 64)
        while words.count <= place { words.append(0) }
        defer { words[place] |= 1 << (number % 64) }
        return words[place] & (1 << (number % 64)) == 0
    }

    mutating func remove(_ number: UInt64) {
        guard contains(number) else { return }
        words[Int(number / 64)] &= ~(1 << (number % 64))
    }
}
