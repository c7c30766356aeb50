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
    private let ends: TraceRunEnds
    /// Called with the name of a part that is damaged, once for each.
    private let damaged: @Sendable (String) -> Void
    private var reported: Set<UInt64> = []
    private static let maxReported = 100
    /// The number of rows that one statement reads before it is reset.
    private static let rowsAtOnce = 64

    init(
        _ connection: SQLiteConnection, damaged: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(StoreError) {
        self.damaged = damaged
        runs = try connection.prepare(
            "SELECT first, last, lows FROM trace_runs WHERE first > ? ORDER BY first LIMIT 1")
        rowNumbers = try connection.prepare("SELECT rows FROM trace_runs WHERE first = ?")
        block = try connection.prepare("SELECT body FROM trace_blocks WHERE id = ?")
        segment = try connection.prepare("SELECT first, count, time, body FROM log WHERE first = ?")
        tail = try connection.prepare(
            "SELECT first, count, time, body FROM log WHERE first > ? ORDER BY first LIMIT ?")
        ends = try TraceRunEnds(connection)
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
    ///
    /// A run has no damaged row, which could have events of any subject: it ends before one, or begins after it, so that
    /// a look-up reads the row itself.
    func build(after last: UInt64) throws(StoreError) -> TraceRun? {
        var builder = TraceRunBuilder()
        var isOver = false
        try walk(after: last) { segment in
            do {
                try builder.add(segment)
            } catch {
                isOver = !builder.isEmpty
            }
            return !isOver && !builder.isFull
        }
        return isOver || builder.isFull ? builder.finish() : nil
    }

    /// Returns the oldest rows of the log that end after an event and contain events of the subject, at most `limit`.
    ///
    /// A run that is damaged is left out. The log itself is read for the events that no run covers: those of a damaged
    /// run, and those after the last one.
    func find(_ subject: TraceSubject, after: UInt64, limit: Int) throws(StoreError) -> [LogSegment] {
        let hash = TraceRun.hash(subject)
        var found: [LogSegment] = []
        // The last event before which all were searched.
        var searched: UInt64 = 0
        var run: UInt64 = 0
        while found.count < limit, let next = try nextRun(of: hash, after: run) {
            run = next.first
            guard let rows = try rows(of: hash, in: next) else {
                reportDamage(of: next)
                continue
            }
            if next.first > searched &+ 1, next.first > after {
                try read(subject, from: searched, to: next.first, after: after, limit: limit, into: &found)
            }
            searched = max(searched, next.last)
            if next.last <= after { continue }
            for row in rows where found.count < limit {
                segment.bind(1, row)
                defer { segment.reset() }
                if try segment.step(), let segment = LogSegment(segment), segment.last > after {
                    found.append(segment)
                }
            }
        }
        try read(subject, from: searched, to: .max, after: after, limit: limit, into: &found)
        return found
    }

    /// Adds the rows of the log that begin after `from` and before `end`, end after an event, and contain events of the
    /// subject. The first damaged row is among them, because it may contain some: whoever reads it learns that events
    /// are missing.
    private func read(
        _ subject: TraceSubject, from: UInt64, to end: UInt64, after: UInt64, limit: Int,
        into found: inout [LogSegment]
    ) throws(StoreError) {
        if found.count >= limit { return }
        var hasDamaged = false
        try walk(after: from) { segment in
            if segment.first >= end { return false }
            guard segment.last > after else { return true }
            do {
                if try tells(segment, of: subject) { found.append(segment) }
            } catch {
                if !exchange(&hasDamaged, with: true) { found.append(segment) }
            }
            return found.count < limit
        }
    }

    // MARK: Runs

    /// A stored run, and the blocks that may contain the hash that is looked for.
    private struct StoredRun {
        let first: UInt64
        let last: UInt64
        let blockCount: Int
        let blocks: Range<Int>
        /// The first hash of each of these blocks.
        let lows: [UInt64]
        let hasOrder: Bool
    }

    private func nextRun(of hash: UInt32, after run: UInt64) throws(StoreError) -> StoredRun? {
        defer { runs.reset() }
        runs.bind(1, run)
        guard try runs.step() else { return nil }
        let (first, last) = (runs.word(0), runs.word(1))
        return unsafe runs.withBlob(2) { bytes in
            let blocks = unsafe TraceRun.blocks(of: hash, in: bytes)
            return unsafe StoredRun(
                first: first, last: last, blockCount: bytes.count / 8, blocks: blocks,
                lows: blocks.map { unsafe bytes.word(at: 8 * $0) }, hasOrder: TraceRun.isInOrder(lows: bytes))
        }
    }

    /// Returns the rows of the log that a run lists for a hash; nil if the run is damaged. A run lies if it is not one
    /// piece with the log and its own blocks.
    private func rows(of hash: UInt32, in run: StoredRun) throws(StoreError) -> [UInt64]? {
        guard run.hasOrder, try ends.areSound(first: run.first, last: run.last),
            try !hasBlock(run.first &+ UInt64(run.blockCount))
        else { return nil }
        var places: [Int] = []
        for (index, low) in zip(run.blocks, run.lows) {
            defer { block.reset() }
            block.bind(1, run.first &+ UInt64(index))
            guard try block.step(),
                unsafe block.withBlob(0, { unsafe TraceRun.places(of: hash, in: $0, low: low, &places) })
            else { return nil }
        }
        return places.isEmpty ? [] : try numbers(places, run.first)
    }

    private func hasBlock(_ id: UInt64) throws(StoreError) -> Bool {
        defer { block.reset() }
        block.bind(1, id)
        return try block.step()
    }

    private func reportDamage(of run: StoredRun) {
        guard reported.count < Self.maxReported, reported.insert(run.first).inserted else { return }
        damaged("the index of the events from \(run.first) on")
    }

    /// Returns the numbers of the log rows with these indexes; nil if the run does not have them.
    private func numbers(_ places: [Int], _ run: UInt64) throws(StoreError) -> [UInt64]? {
        defer { rowNumbers.reset() }
        rowNumbers.bind(1, run)
        guard try rowNumbers.step() else { return nil }
        return unsafe rowNumbers.withBlob(0) { unsafe TraceRun.rows(places, in: $0) }
    }

    private func tells(_ segment: LogSegment, of subject: TraceSubject) throws(DamagedSegment) -> Bool {
        var isFound = false
        switch subject {
        case .device(let device):
            try unsafe segment.walk { event, _, _ in
                isFound = event.device == device
                return !isFound
            }
        case .message(let id, _):
            let text = Array(id.text.utf8)
            try unsafe segment.walk { event, _, bytes in
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
