import PushLogic
package import PushModel

/// Reads the event log on a thread of its own, in parallel with the writer.
final class LedgerReader {
    private let connection: SQLiteConnection
    private let read: SQLiteStatement
    private let bounds: SQLiteStatement
    private let begin: SQLiteStatement
    private let end: SQLiteStatement
    /// The gaps of the log. New ones appear only while no process has the ledger open.
    private let gaps: [ClosedRange<UInt64>]
    let traces: LedgerTraces
    let deliveries: LedgerDeliveries

    init(_ path: String, indexDamaged: @escaping @Sendable (String) -> Void = { _ in }) throws(StoreError) {
        // The connection is writable because it also runs checkpoints.
        connection = try SQLiteConnection(path)
        try connection.run("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0")
        read = try connection.prepare(
            """
            SELECT first, count, time, body FROM log
            WHERE first >= coalesce((SELECT first FROM log WHERE first <= ? ORDER BY first DESC LIMIT 1), 0)
            ORDER BY first
            """)
        begin = try connection.prepare("BEGIN")
        end = try connection.prepare("COMMIT")
        gaps = try LogGap.all(in: connection)
        traces = try LedgerTraces(connection, damaged: indexDamaged)
        deliveries = try LedgerDeliveries(connection)
        bounds = try connection.prepare(
            """
            SELECT (SELECT first FROM log ORDER BY first LIMIT 1),
                (SELECT first + count - 1 FROM log ORDER BY first DESC LIMIT 1)
            """)
    }

    func checkpoint() {
        try? connection.checkpoint(.passive)
    }

    /// Returns events and the range of the log as of one moment. Otherwise events that are trimmed in between would be
    /// a gap that the caller cannot detect.
    func page(since: UInt64, limit: Int) throws(StoreError) -> LogPage {
        // A transaction that could not be ended would show an old state of the file.
        if connection.isInTransaction { try end.run() }
        try begin.run()
        defer { try? end.run() }
        let (oldest, newest) = try range()
        guard since < newest else { return LogPage(segments: [], oldest: oldest, newest: newest, gaps: gaps) }
        return LogPage(
            segments: try segments(since: since, limit: limit), oldest: oldest, newest: newest, gaps: gaps)
    }

    private func segments(since: UInt64, limit: Int) throws(StoreError) -> [LogSegment] {
        defer { read.reset() }
        read.bind(1, since + 1)
        var segments: [LogSegment] = []
        var events = 0
        while events < limit, try read.step() {
            guard let segment = LogSegment(read), segment.last > since else { continue }
            segments.append(segment)
            events += Int(clamping: segment.last - max(since, segment.first - 1))
        }
        return segments
    }

    func range() throws(StoreError) -> (oldest: UInt64, newest: UInt64) {
        defer { bounds.reset() }
        let missing = gaps.last?.upperBound ?? 0
        guard try bounds.step(), !bounds.isNull(0) else { return (missing + 1, missing) }
        return (bounds.word(0), max(bounds.word(1), missing))
    }
}

extension LogSegment {
    /// Creates a segment from the columns `first, count, time, body`. Returns nil if the numbers are out of range.
    init?(_ row: SQLiteStatement) {
        let (first, count) = (row.word(0), row.number(1))
        guard first > 0, first <= FingerprintTable.maximumValue, count <= Int64(Int32.max) else { return nil }
        self.init(first: first, count: max(0, Int(count)), time: row.time(2), bytes: row.blob(3))
    }
}

extension SQLiteLedger: EventLog {
    package func read(since: UInt64, limit: Int) async throws -> LogPage {
        try await read { (reader) throws(StoreError) in try reader.page(since: since, limit: limit) }
    }

    package func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] {
        try await trace(subject, after: 0, limit: limit)
    }

    package func trace(_ subject: TraceSubject, after: UInt64, limit: Int) async throws -> [LogSegment] {
        try await read { (reader) throws(StoreError) in try reader.traces.find(subject, after: after, limit: limit) }
    }

    func read<Value: Sendable>(
        _ work: @escaping @Sendable (LedgerReader) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError>? = await unlessClosed(on: reading) { [reader] in
            guard let reader = reader.valueUnlessClosed else { return nil }
            do throws(StoreError) {
                return .success(try work(reader))
            } catch {
                return .failure(error)
            }
        }
        guard let result else { throw StoreError(.cannotRead, "the ledger is closed") }
        return try result.get()
    }
}
