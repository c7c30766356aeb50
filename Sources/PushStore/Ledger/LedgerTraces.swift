import PushModel
import PushWire

/// Finds events of one message or device: by the runs that are stored, and by reading what came after them. Confined to
/// the reading thread.
final class LedgerTraces {
    private let runs: SQLiteStatement
    private let rowNumbers: SQLiteStatement
    private let block: SQLiteStatement
    private let segment: SQLiteStatement
    private let tail: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StoreError) {
        runs = try connection.prepare("SELECT first, last, lows FROM trace_runs ORDER BY first")
        rowNumbers = try connection.prepare("SELECT rows FROM trace_runs WHERE first = ?")
        block = try connection.prepare("SELECT body FROM trace_blocks WHERE id = ?")
        segment = try connection.prepare("SELECT first, count, time, body FROM log WHERE first = ?")
        tail = try connection.prepare("SELECT first, count, time, body FROM log WHERE first > ? ORDER BY first")
    }

    /// A run of what was logged after `last`; nil if that is too little.
    func build(after last: UInt64) throws(StoreError) -> TraceRun? {
        var builder = TraceRunBuilder()
        defer { tail.reset() }
        tail.bind(1, last)
        while !builder.isFull {
            guard try tail.step() else { return nil }
            builder.add(LogSegment(tail))
        }
        return builder.finish()
    }

    /// At most `limit` of the rows that tell of it, the oldest first.
    func find(_ subject: TraceSubject, limit: Int) throws(StoreError) -> [LogSegment] {
        let hash = TraceRun.hash(subject)
        var found: [LogSegment] = []
        var indexed: UInt64 = 0
        defer { runs.reset() }
        while found.count < limit, try runs.step() {
            indexed = runs.word(1)
            let first = runs.word(0)
            let blocks = unsafe runs.withBlob(2) { unsafe TraceRun.blocks(of: hash, in: $0) }
            var places: [Int] = []
            for index in blocks {
                defer { block.reset() }
                block.bind(1, first + UInt64(index))
                guard try block.step() else { continue }
                unsafe block.withBlob(0) { unsafe TraceRun.places(of: hash, in: $0, &places) }
            }
            if places.isEmpty { continue }
            for row in try numbers(places, first) where found.count < limit {
                segment.bind(1, row)
                defer { segment.reset() }
                if try segment.step() { found.append(LogSegment(segment)) }
            }
        }
        defer { tail.reset() }
        tail.bind(1, indexed)
        while found.count < limit, try tail.step() {
            let segment = LogSegment(tail)
            if tells(segment, of: subject) { found.append(segment) }
        }
        return found
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
                // Most ids of a producer begin alike.
                if let end = text.last, unsafe bytes[id.upperBound - 1] != end { return true }
                isFound = unsafe bytes[id].elementsEqual(text)
                return !isFound
            }
        }
        return isFound
    }
}
