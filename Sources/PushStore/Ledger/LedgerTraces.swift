import PushModel
import PushWire

/// Finds the events of one message or device: in the stored trace runs, and by reading the log after the last run.
/// Confined to the reading thread.
///
/// A statement is reset after a few rows. While one is active, it holds a snapshot of the file, and the write-ahead log
/// cannot restart.
final class LedgerTraces {
    private let runs: SQLiteStatement
    private let rowNumbers: SQLiteStatement
    private let block: SQLiteStatement
    private let segment: SQLiteStatement
    private let tail: SQLiteStatement
    /// The number of rows that one statement reads before it is reset.
    private static let rowsAtOnce = 64

    init(_ connection: SQLiteConnection) throws(StoreError) {
        runs = try connection.prepare(
            "SELECT first, last, lows FROM trace_runs WHERE first > ? ORDER BY first LIMIT 1")
        rowNumbers = try connection.prepare("SELECT rows FROM trace_runs WHERE first = ?")
        block = try connection.prepare("SELECT body FROM trace_blocks WHERE id = ?")
        segment = try connection.prepare("SELECT first, count, time, body FROM log WHERE first = ?")
        tail = try connection.prepare(
            "SELECT first, count, time, body FROM log WHERE first > ? ORDER BY first LIMIT ?")
    }

    /// Calls `body` with the segments of the log in order, until it returns false.
    private func walk(after first: UInt64, _ body: (LogSegment) -> Bool) throws(StoreError) {
        var after = first
        var isOver = false
        while !isOver { isOver = try walkSome(after: &after, body) }
    }

    /// Reads the next rows. Returns whether the walk is over.
    private func walkSome(after: inout UInt64, _ body: (LogSegment) -> Bool) throws(StoreError) -> Bool {
        defer { tail.reset() }
        tail.bind(1, after)
        tail.bind(2, Int64(Self.rowsAtOnce))
        var count = 0
        while try tail.step() {
            count += 1
            after = tail.word(0)
            if let segment = LogSegment(tail), !body(segment) { return true }
        }
        return count < Self.rowsAtOnce
    }

    /// Builds a run from the events after `last`. Returns nil if there are too few.
    func build(after last: UInt64) throws(StoreError) -> TraceRun? {
        var builder = TraceRunBuilder()
        try walk(after: last) { segment in
            builder.add(segment)
            return !builder.isFull
        }
        return builder.isFull ? builder.finish() : nil
    }

    /// Returns the oldest rows of the log that contain events of the subject, at most `limit`.
    func find(_ subject: TraceSubject, limit: Int) throws(StoreError) -> [LogSegment] {
        let hash = TraceRun.hash(subject)
        var found: [LogSegment] = []
        var indexed: UInt64 = 0
        var run: UInt64 = 0
        while found.count < limit, let next = try blocks(of: hash, after: run) {
            (run, indexed) = (next.first, next.last)
            var places: [Int] = []
            for index in next.blocks {
                defer { block.reset() }
                block.bind(1, run &+ UInt64(index))
                guard try block.step() else { continue }
                unsafe block.withBlob(0) { unsafe TraceRun.places(of: hash, in: $0, &places) }
            }
            if places.isEmpty { continue }
            for row in try numbers(places, run) where found.count < limit {
                segment.bind(1, row)
                defer { segment.reset() }
                if try segment.step(), let segment = LogSegment(segment) { found.append(segment) }
            }
        }
        if found.count >= limit { return found }
        try walk(after: indexed) { segment in
            if tells(segment, of: subject) { found.append(segment) }
            return found.count < limit
        }
        return found
    }

    /// Returns the first and last event number of the next run, and the blocks that may contain the hash.
    private func blocks(
        of hash: UInt32, after run: UInt64
    ) throws(StoreError) -> (first: UInt64, last: UInt64, blocks: Range<Int>)? {
        defer { runs.reset() }
        runs.bind(1, run)
        guard try runs.step() else { return nil }
        return unsafe (runs.word(0), runs.word(1), runs.withBlob(2) { unsafe TraceRun.blocks(of: hash, in: $0) })
    }

    private func numbers(_ places: [Int], _ run: UInt64) throws(StoreError) -> [UInt64] {
        defer { rowNumbers.reset() }
        rowNumbers.bind(1, run)
        guard try rowNumbers.step() else { return [] }
        return unsafe rowNumbers.withBlob(0) { unsafe TraceRun.rows(places, in: $0) }
    }

    private func tells(_ segment: LogSegment, of subject: TraceSubject) -> Bool {
        var isFound = false
        switch subject {
        case .device(let device):
            try? unsafe segment.walk { event, _, _ in
                isFound = event.device == device
                return !isFound
            }
        case .message(let id):
            let text = Array(id.text.utf8)
            try? unsafe segment.walk { event, _, bytes in
                guard let id = event.messageID, id.count == text.count else { return true }
                // Compare the last byte first: the ids of one producer often have the same prefix.
                if let end = text.last, unsafe bytes[id.upperBound - 1] != end { return true }
                isFound = unsafe bytes[id].elementsEqual(text)
                return !isFound
            }
        }
        return isFound
    }
}
