package import PushModel
import PushPostgreSQL
package import PushTime
import PushWire

extension PostgreSQLLedger: AcceptanceLog {
    package func accepted(
        _ messages: [(app: AppID, id: MessageID)], since time: WallTime
    ) async throws -> [MessageID: WallTime] {
        let parts = messages.map { Int32(map.partition(of: $0.app, $0.id).number) }
        let results = try await call.run { section in
            section.call(StoreStatements.acceptances) { parameters in
                parameters.append(int4Array: parts)
                parameters.append(byteaArray: messages.lazy.map { Array($0.id.text.utf8) })
                parameters.append(int8: time.milliseconds)
            }
        }
        let apps = Dictionary(messages.map { ($0.id, $0.app) }) { first, _ in first }
        var found: [MessageID: WallTime] = [:]
        for row in results[0].rows {
            let number = UInt64(bitPattern: try row.value(0, as: Int64.self))
            let segments = StoredLogRow.decode(
                try row.value(2), number: number, time: WallTime(milliseconds: try row.value(1)))
            // A damaged group is skipped, as in a search.
            for segment in segments ?? [] {
                try? segment.entries { entry in
                    guard entry.event.kind == .messageAccepted, let id = entry.messageID.flatMap({ MessageID($0) }),
                        let app = apps[id], entry.app == app
                    else { return true }
                    found[id] = entry.event.time
                    return true
                }
            }
        }
        return found
    }
}

extension StoreStatements {
    /// The first group of each message among those since a time: its acceptance comes before all else. The groups of a part
    /// are read back from the newest one.
    fileprivate static let acceptances = PostgreSQLStatement(
        "acceptances",
        sql: """
            WITH names AS MATERIALIZED (SELECT * FROM unnest($1::int[], $2::bytea[]) AS n (part, name)),
            starts AS MATERIALIZED (
                SELECT part, coalesce((
                    SELECT number FROM carillon.groups AS g WHERE g.part = p.part AND g.time < $3
                    ORDER BY number DESC LIMIT 1), 0) AS number
                FROM (SELECT DISTINCT part FROM names) AS p),
            firsts AS MATERIALIZED (
                SELECT g.part, min(g.number) AS number
                FROM starts AS s JOIN carillon.groups AS g ON g.part = s.part AND g.number > s.number
                JOIN names AS n ON n.part = g.part AND position(n.name IN g.log) > 0 GROUP BY g.part, n.name)
            SELECT g.number, g.time, g.log FROM (SELECT DISTINCT part, number FROM firsts) AS f
            JOIN carillon.groups AS g ON g.part = f.part AND g.number = f.number
            """,
        parameters: [.int4Array, .byteaArray, .int8])
}
