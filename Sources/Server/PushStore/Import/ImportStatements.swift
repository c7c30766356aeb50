import PushLogic
import PushModel
import PushPostgreSQL
import PushTime

/// The statements of an import. While it lasts, the version of the tables is ``StoreSchema/unfinishedImport``, so that no
/// node uses the store.
enum ImportStatements {
    /// The lock belongs to the connection, and ends with it.
    static let lock = PostgreSQLStatement.once(
        sql: "SELECT pg_try_advisory_lock(hashtext('carillon store import'))")

    /// What a store has that a new one does not have; null if it has nothing.
    static let used = PostgreSQLStatement.once(
        sql: """
            SELECT CASE WHEN EXISTS (SELECT FROM carillon.nodes) THEN 'nodes have joined it'
                WHEN EXISTS (SELECT FROM carillon.leases WHERE epoch <> 0) THEN 'nodes have joined it'
                WHEN EXISTS (SELECT FROM carillon.groups) THEN 'it has events'
                WHEN EXISTS (SELECT FROM carillon.devices) THEN 'it has devices'
                WHEN EXISTS (SELECT FROM carillon.api_keys) THEN 'it has API keys'
                WHEN EXISTS (SELECT FROM carillon.app_marks) THEN 'it has paused apps' END
            """)

    static let begin = PostgreSQLStatement.once(
        sql: "UPDATE carillon.store SET version = $1, secret = $2", parameters: [.int4, .bytea])

    static let empty = PostgreSQLStatement.once(
        sql: """
            TRUNCATE carillon.groups, carillon.bodies, carillon.later, carillon.cancels, carillon.receipts,
                carillon.app_marks, carillon.devices, carillon.device_tags, carillon.device_changes,
                carillon.device_marks, carillon.device_counts, carillon.api_keys
            """)

    static let addGroups = PostgreSQLStatement(
        "import-groups",
        sql: """
            INSERT INTO carillon.groups (part, number, day, time, keys, log, sent)
            SELECT * FROM unnest($1::int[], $2::bigint[], $3::int[], $4::bigint[], $5::bytea[], $6::bytea[],
                $7::bytea[])
            """,
        parameters: [.int4Array, .int8Array, .int4Array, .int8Array, .byteaArray, .byteaArray, .byteaArray])

    static let addBodies = PostgreSQLStatement(
        "import-bodies",
        sql: """
            INSERT INTO carillon.bodies (part, number, hour, time, heads, bodies)
            SELECT p, n, $3, $4, h, b FROM unnest($1::int[], $2::bigint[], $5::bytea[], $6::bytea[])
                AS rows (p, n, h, b)
            """,
        parameters: [.int4Array, .int8Array, .int4, .int8, .byteaArray, .byteaArray])

    static let addLater = PostgreSQLStatement(
        "import-later",
        sql: """
            INSERT INTO carillon.later (part, seq, due, time, fingerprint, content, audience, app, body)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            """,
        parameters: [.int4, .int8, .int8, .int8, .int8, .int8, .int8, .text, .bytea])

    static let addCancel = PostgreSQLStatement(
        "import-cancel",
        sql: """
            INSERT INTO carillon.cancels (part, number, time, fingerprint, app, id, client, sent, cancelled, parts)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            """,
        parameters: [.int4, .int8, .int8, .int8, .text, .text, .text, .int8, .int8, .bytea])

    static let addReceipt = PostgreSQLStatement(
        "import-receipt",
        sql: "INSERT INTO carillon.receipts (app, id, part, time) VALUES ($1, $2, 0, $3)",
        parameters: [.text, .text, .int8])

    static let finish = PostgreSQLStatement.once(
        sql: "UPDATE carillon.store SET version = $1, sealing = $2", parameters: [.int4, .bytea])
}

extension PostgreSQLSection {
    func add(_ rows: [ImportedPart.Row]) {
        call(ImportStatements.addGroups) { parameters in
            parameters.append(int4Array: rows.map { Int32(clamping: $0.part) })
            parameters.append(int8Array: rows.map { Int64(bitPattern: $0.number) })
            parameters.append(int4Array: rows.map { LedgerHorizon.day(of: $0.time) })
            parameters.append(int8Array: rows.map(\.time.milliseconds))
            parameters.append(byteaArray: rows.lazy.map(\.keys))
            parameters.append(byteaArray: rows.lazy.map(\.log))
            parameters.append(byteaArray: rows.lazy.map(\.sent))
        }
    }

    /// Adds rows of waiting messages that were accepted at the same time.
    func add(_ rows: [(part: Int, bodies: StoredBodies)], accepted time: WallTime, hour: Int32) {
        call(ImportStatements.addBodies) { parameters in
            parameters.append(int4Array: rows.map { Int32(clamping: $0.part) })
            parameters.append(int8Array: rows.map { Int64(bitPattern: $0.bodies.first) })
            parameters.append(int4: hour)
            parameters.append(int8: time.milliseconds)
            parameters.append(byteaArray: rows.lazy.map(\.bodies.heads))
            parameters.append(byteaArray: rows.lazy.map(\.bodies.bodies))
        }
    }

    func add(_ message: SourceLedger.Scheduled, number: UInt64) {
        call(ImportStatements.addLater) { parameters in
            parameters.append(int4: Int32(clamping: EventNumber.part(of: number)))
            parameters.append(int8: Int64(bitPattern: number))
            parameters.append(int8: message.due.value)
            parameters.append(int8: message.time.milliseconds)
            parameters.append(int8: Int64(bitPattern: message.key.fingerprint))
            parameters.append(int8: Int64(bitPattern: message.key.storedContent))
            parameters.append(int8: Int64(bitPattern: message.key.audience))
            parameters.append(text: message.app.name)
            parameters.append(bytea: message.body)
        }
    }

    func add(_ cancel: SourceLedger.Cancel, number: UInt64, parts: [StoredCancelPart]) {
        var words: [UInt64] = []
        for part in parts { part.append(to: &words) }
        if cancel.isOfActivities { StoredCancelPart.markActivities(in: &words) }
        call(ImportStatements.addCancel) { parameters in
            parameters.append(int4: Int32(clamping: EventNumber.part(of: number)))
            parameters.append(int8: Int64(bitPattern: number))
            parameters.append(int8: cancel.time.milliseconds)
            parameters.append(int8: Int64(bitPattern: cancel.fingerprint))
            parameters.append(text: cancel.app.name)
            parameters.append(text: cancel.id.text)
            parameters.append(text: cancel.client)
            if let counts = cancel.counts {
                parameters.append(int8: counts.sent)
                parameters.append(int8: counts.cancelled)
            } else {
                parameters.appendNull()
                parameters.appendNull()
            }
            parameters.append(bytea: Self.bytes(words))
        }
    }
}
