package import PushModel
import PushPostgreSQL
package import PushTime
import PushWire

extension PostgreSQLLedger: AcceptanceLog {
    package func accepted(
        _ messages: [(app: AppID, id: MessageID)], since time: WallTime
    ) async throws -> [MessageID: WallTime] {
        let parts = messages.map { Int32(map.partition(of: $0.app, $0.id).number) }
        let results = try await call.run(timeout: .seconds(10)) { section in
            section.call(StoreStatements.acceptances) { parameters in
                parameters.append(int4Array: parts)
                parameters.append(byteaArray: messages.lazy.map { Array($0.id.text.utf8) })
                parameters.append(int8: time.milliseconds)
                parameters.append(int8: Self.maxGroups)
            }
        }
        let apps = Dictionary(messages.map { ($0.id, $0.app) }) { first, _ in first }
        var found: [MessageID: WallTime] = [:]
        var met: Set<MessageID> = []
        for row in results[0].rows {
            let number = UInt64(bitPattern: try row.value(0, as: Int64.self))
            let segments = StoredLogRow.decode(
                try row.value(2), number: number, time: WallTime(milliseconds: try row.value(1)))
            // A damaged group is skipped, as in a search.
            for segment in segments ?? [] {
                try? segment.entries { entry in
                    guard let id = entry.messageID.flatMap({ MessageID($0) }), let app = apps[id], entry.app == app
                    else { return true }
                    met.insert(id)
                    if entry.event.kind == .messageAccepted { found[id] = entry.event.time }
                    return true
                }
            }
        }
        // A request may have been rejected before it was accepted.
        for id in met where found[id] == nil {
            found[id] = try await MessageHistory(log: self).one(id, app: apps[id]).first?.acceptedAt
        }
        return found
    }
}

extension StoreStatements {
    /// The first group of each message among those since a time, and among the newest ones of its part. Each part is read
    /// from one number on: a join over its groups would be planned as if it concerned a third of them.
    fileprivate static let acceptances = PostgreSQLStatement(
        "acceptances",
        sql: """
            WITH names AS MATERIALIZED (SELECT * FROM unnest($1::int[], $2::bytea[]) AS n (part, name)),
            starts AS MATERIALIZED (
                SELECT part, greatest(
                    coalesce((
                        SELECT number FROM carillon.groups AS g WHERE g.part = p.part AND g.time < $3
                        ORDER BY number DESC LIMIT 1), 0),
                    coalesce((
                        SELECT number FROM carillon.groups AS g WHERE g.part = p.part
                        ORDER BY number DESC OFFSET $4 LIMIT 1), 0)) AS number
                FROM (SELECT DISTINCT part FROM names) AS p)
            SELECT f.number, f.time, f.log FROM names AS n JOIN starts AS s USING (part)
            CROSS JOIN LATERAL (
                SELECT number, time, log FROM carillon.groups AS g
                WHERE g.part = s.part AND g.number > s.number AND position(n.name IN g.log) > 0
                ORDER BY g.number LIMIT 1) AS f
            """,
        parameters: [.int4Array, .byteaArray, .int8, .int8])
}
