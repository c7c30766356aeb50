package import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// Forgetting a user in the stored messages of all parts, whoever owns them.
///
/// A row is replaced only if it is as it was read. The lease of its part is locked meanwhile, so that an owner who copies
/// messages to a later hour copies them before, and the next search finds the copies, or after.
extension PostgreSQLLedger {
    /// The number of rows that one statement searches.
    private static let rowsSearched: Int64 = 64
    private static let maxSearches = 20

    /// The database does not note it: each order has a pseudonym of its own.
    package func begin(_ erasure: UserErasure) async throws(LedgerFault) -> UserErasure { erasure }

    package func erase(_ erasure: UserErasure) async throws(LedgerFault) -> Int {
        var count = 0
        do {
            for _ in 0..<Self.maxSearches {
                var left = 0
                for part in 0..<partCount {
                    left += try await eraseWaiting(erasure, in: Int32(clamping: part), counting: &count)
                    left += try await eraseScheduled(erasure, in: Int32(clamping: part), counting: &count)
                }
                if left == 0 { return count }
            }
        } catch {
            throw LedgerFault("\(error)")
        }
        throw LedgerFault("messages are copied faster than they can be searched")
    }

    /// Searches the waiting messages of a part, and returns the number of rows that named the user.
    private func eraseWaiting(_ erasure: UserErasure, in part: Int32, counting count: inout Int) async throws -> Int {
        var (after, left) = ((number: Int64.min, hour: Int32.min), 0)
        while true {
            let (call, from) = (call, after)
            let result = try await call.run { section in
                section.call(ErasureStatements.waiting) { parameters in
                    parameters.append(int4: part)
                    parameters.append(int8: from.number)
                    parameters.append(int4: from.hour)
                    parameters.append(bytea: Array(erasure.user.utf8))
                    parameters.append(int8: Self.rowsSearched)
                }
            }[0]
            for row in result.rows {
                after = (try row.value(0), try row.value(4))
                guard try row.value(5), let changed = try PostgreSQLCore.bodies(row).0.without(erasure) else {
                    continue
                }
                left += 1
                let heads = StoredBodies.heads(of: changed.row.apps, changed.row.heads)
                let (place, sum) = (after, try row.value(6, as: [UInt8].self))
                let isChanged =
                    try await call.run { section in
                        section.call(ErasureStatements.replaceWaiting) { parameters in
                            parameters.append(int4: part)
                            parameters.append(int8: place.number)
                            parameters.append(int4: place.hour)
                            parameters.append(bytea: sum)
                            parameters.append(bytea: heads)
                            parameters.append(bytea: changed.row.bodies)
                        }
                    }[0].affectedRows > 0
                if isChanged { count += changed.count }
            }
            if result.rowCount < Self.rowsSearched { return left }
        }
    }

    /// The same for the scheduled messages.
    private func eraseScheduled(_ erasure: UserErasure, in part: Int32, counting count: inout Int) async throws -> Int {
        var (after, left) = (Int64.min, 0)
        while true {
            let (call, from) = (call, after)
            let result = try await call.run { section in
                section.call(ErasureStatements.scheduled) { parameters in
                    parameters.append(int4: part)
                    parameters.append(int8: from)
                    parameters.append(bytea: Array(erasure.user.utf8))
                    parameters.append(int8: Self.rowsSearched)
                }
            }[0]
            for row in result.rows {
                after = try row.value(0)
                guard let body = try PostgreSQLCore.later(row).message?.content.record(after: erasure) else { continue }
                left += 1
                let (place, sum) = (after, try row.value(5, as: [UInt8].self))
                let isChanged =
                    try await call.run { section in
                        section.call(ErasureStatements.replaceScheduled) { parameters in
                            parameters.append(int4: part)
                            parameters.append(int8: place)
                            parameters.append(bytea: sum)
                            parameters.append(bytea: body)
                        }
                    }[0].affectedRows > 0
                if isChanged { count += 1 }
            }
            if result.rowCount < Self.rowsSearched { return left }
        }
    }
}

private enum ErasureStatements {
    static let waiting = PostgreSQLStatement(
        "erased-waiting",
        sql: """
            SELECT number, time, CASE WHEN names THEN heads END, CASE WHEN names THEN bodies END, hour, names,
                CASE WHEN names THEN sha256(bodies) END
            FROM (SELECT *, position($4 IN bodies) > 0 AS names FROM carillon.bodies
                WHERE part = $1 AND (number, hour) > ($2, $3) ORDER BY number, hour LIMIT $5) AS searched
            ORDER BY number, hour
            """,
        parameters: [.int4, .int8, .int4, .bytea, .int8])
    static let replaceWaiting = PostgreSQLStatement(
        "replace-waiting",
        sql: """
            WITH held AS MATERIALIZED (SELECT part FROM carillon.leases WHERE part = $1 FOR UPDATE)
            UPDATE carillon.bodies AS old SET heads = $5, bodies = $6 FROM held
            WHERE old.part = held.part AND number = $2 AND hour = $3 AND sha256(old.bodies) = $4
            """,
        parameters: [.int4, .int8, .int4, .bytea, .bytea, .bytea])
    static let scheduled = PostgreSQLStatement(
        "erased-scheduled",
        sql: """
            SELECT seq, time, app, names, CASE WHEN names THEN body END, CASE WHEN names THEN sha256(body) END
            FROM (SELECT *, position($3 IN body) > 0 AS names FROM carillon.later
                WHERE part = $1 AND seq > $2 ORDER BY seq LIMIT $4) AS searched
            ORDER BY seq
            """,
        parameters: [.int4, .int8, .bytea, .int8])
    static let replaceScheduled = PostgreSQLStatement(
        "replace-scheduled",
        sql: """
            UPDATE carillon.later SET body = $4 WHERE part = $1 AND seq = $2 AND sha256(body) = $3
            """,
        parameters: [.int4, .int8, .bytea, .bytea])
}
