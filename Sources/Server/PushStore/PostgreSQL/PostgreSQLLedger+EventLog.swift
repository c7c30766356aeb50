import PushLoop
package import PushModel
import PushPostgreSQL
import PushTime

/// Reading events. Any node reads any part.
extension PostgreSQLLedger {
    private static let rowsAtOnce: Int64 = 64

    package func bounds() async throws -> [LogBounds] {
        let call = call
        let results = try await call.run { $0.call(StoreStatements.allLogBounds) }
        var bounds: [LogBounds] = []
        for row in results[0].rows {
            let part = Int(try row.value(0, as: Int32.self))
            guard part == bounds.count else {
                throw StoreError(.damaged, "part \(bounds.count) is missing in the table leases")
            }
            guard let last = try row.optional(2, as: Int64.self) else {
                let base = EventNumber.base(of: part)
                bounds.append(LogBounds(oldest: base + 1, newest: base))
                continue
            }
            let number = UInt64(bitPattern: last)
            guard let keys = StoredKeyRow(try row.value(3), number: number) else {
                throw StoreError(
                    .damaged, "row \(EventNumber.within(number)) of part \(part) in the table groups is damaged")
            }
            let first = UInt64(bitPattern: try row.value(1, as: Int64.self))
            bounds.append(LogBounds(oldest: first, newest: keys.next - 1))
        }
        return bounds
    }

    package func read(since: UInt64, limit: Int) async throws -> LogPage {
        var page = try await rows(since: since, limit: limit)
        var segments = page.segments
        var events = segments.reduce(0) { $0 + $1.count }
        while let last = page.segments.last?.last, last < page.newest, events < limit {
            page = try await rows(since: last, limit: limit - events)
            segments += page.segments
            events += page.segments.reduce(0) { $0 + $1.count }
        }
        return LogPage(segments: segments, oldest: page.oldest, newest: page.newest)
    }

    private func rows(since: UInt64, limit: Int) async throws -> LogPage {
        let call = call
        let part = Int32(clamping: EventNumber.part(of: since))
        // A row has many events as a rule.
        let rows = min(Self.rowsAtOnce, Int64(max(16, limit)))
        let results = try await call.run { section in
            section.call(StoreStatements.logBounds) { $0.append(int4: part) }
            section.call(StoreStatements.logAfter) { parameters in
                parameters.append(int4: part)
                parameters.append(int8: Int64(bitPattern: since))
                parameters.append(int8: rows)
            }
        }
        guard let bounds = results[0].rows.first(where: { _ in true }) else {
            let base = EventNumber.base(of: Int(part))
            return LogPage(segments: [], oldest: base + 1, newest: base)
        }
        let oldest = UInt64(bitPattern: try bounds.value(0, as: Int64.self))
        let last = UInt64(bitPattern: try bounds.value(1, as: Int64.self))
        guard let keys = StoredKeyRow(try bounds.value(2), number: last) else {
            throw StoreError(.damaged, "row \(EventNumber.within(last)) of part \(part) in the table groups is damaged")
        }
        var page: [LogSegment] = []
        var events = 0
        for row in results[1].rows where events < limit {
            let number = UInt64(bitPattern: try row.value(0, as: Int64.self))
            let time = WallTime(milliseconds: try row.value(1))
            guard let segments = StoredLogRow.decode(try row.value(2), number: number, time: time) else {
                throw StoreError(
                    .damaged, "row \(EventNumber.within(number)) of part \(part) in the table groups is damaged")
            }
            for segment in segments where segment.last > since && events < limit {
                page.append(segment)
                events += Int(clamping: segment.last - max(since, segment.first - 1))
            }
        }
        return LogPage(segments: page, oldest: oldest, newest: keys.next - 1)
    }

}

extension StoreStatements {
    static let logBounds = PostgreSQLStatement(
        "log-bounds",
        sql: """
            SELECT (SELECT min(number) FROM carillon.groups WHERE part = $1), number, keys FROM carillon.groups
            WHERE part = $1 ORDER BY number DESC LIMIT 1
            """,
        parameters: [.int4])
    /// For each part: its number, the first number, and the last row with its keys, or null.
    static let allLogBounds = PostgreSQLStatement(
        "all-log-bounds",
        sql: """
            SELECT leases.part, (SELECT min(number) FROM carillon.groups WHERE groups.part = leases.part),
                last.number, last.keys
            FROM carillon.leases LEFT JOIN LATERAL (
                SELECT number, keys FROM carillon.groups WHERE groups.part = leases.part ORDER BY number DESC LIMIT 1
            ) last ON true
            ORDER BY leases.part
            """,
        parameters: [])
    static let logAfter = PostgreSQLStatement(
        "log-after",
        sql: """
            SELECT number, time, log FROM carillon.groups WHERE part = $1 AND number >= coalesce(
                (SELECT max(number) FROM carillon.groups WHERE part = $1 AND number <= $2 + 1), 0)
                -- Rows that were imported may have keys and no events.
                AND octet_length(log) > 0
            ORDER BY number LIMIT $3
            """,
        parameters: [.int4, .int8, .int8])
    /// The group that contains a number.
    static let logOf = PostgreSQLStatement(
        "log-of",
        sql: """
            SELECT number, time, log FROM carillon.groups WHERE part = $1 AND number <= $2
            ORDER BY number DESC LIMIT 1
            """,
        parameters: [.int4, .int8])
}
