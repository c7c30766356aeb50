/// The ledger's statements, prepared once.
struct LedgerStatements {
    let begin: SQLiteStatement
    let commit: SQLiteStatement
    let rollBack: SQLiteStatement
    let probe: SQLiteStatement
    let addLog: SQLiteStatement
    let setHead: SQLiteStatement
    let addMessages: SQLiteStatement
    let removeMessages: SQLiteStatement
    let findMessages: SQLiteStatement
    let rewriteMessages: SQLiteStatement
    let messagesNaming: SQLiteStatement
    let addScheduled: SQLiteStatement
    let rewriteScheduled: SQLiteStatement
    let scheduledNaming: SQLiteStatement
    let removeScheduled: SQLiteStatement
    let findScheduled: SQLiteStatement
    let scheduledBetween: SQLiteStatement
    let due: SQLiteStatement
    let nextDue: SQLiteStatement
    let addKeys: SQLiteStatement
    let findKeys: SQLiteStatement
    let oldestKeys: SQLiteStatement
    let pinnedKeys: SQLiteStatement
    let removeKeys: SQLiteStatement
    let oldestLog: SQLiteStatement
    let removeLog: SQLiteStatement
    let dateKeys: SQLiteStatement
    let setLogDate: SQLiteStatement
    let setLogSize: SQLiteStatement
    let setAge: SQLiteStatement
    let setAheadSince: SQLiteStatement
    let removeAheadSince: SQLiteStatement
    let addTraceRun: SQLiteStatement
    let addTraceBlock: SQLiteStatement
    let oldestTrace: SQLiteStatement
    let removeTraceRun: SQLiteStatement
    let removeTraceBlocks: SQLiteStatement
    let addCancel: SQLiteStatement
    let setCancel: SQLiteStatement
    let findCancel: SQLiteStatement
    let oldestCancel: SQLiteStatement
    let removeCancel: SQLiteStatement
    let dateCancels: SQLiteStatement
    let findReceipt: SQLiteStatement
    let addReceipt: SQLiteStatement
    let removeReceipts: SQLiteStatement
    let setPaused: SQLiteStatement
    let removePaused: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StoreError) {
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        rollBack = try connection.prepare("ROLLBACK")
        probe = try connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('probe', zeroblob(65536))")
        addLog = try connection.prepare("INSERT INTO log (first, count, time, body) VALUES (?, ?, ?, ?)")
        setHead = try connection.prepare(
            "INSERT INTO heads (app, kind, seq) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq")
        addMessages = try connection.prepare(
            "INSERT INTO messages (first, count, time, apps, heads, bodies, sums) VALUES (?, ?, ?, ?, ?, ?, ?)")
        removeMessages = try connection.prepare("DELETE FROM messages WHERE first = ?")
        findMessages = try connection.prepare(
            """
            SELECT first, count, time, apps, heads, bodies, sums FROM messages
            WHERE first <= ? ORDER BY first DESC LIMIT 1
            """)
        rewriteMessages = try connection.prepare(
            "UPDATE messages SET heads = ?, bodies = ?, sums = nullif(?, x'') WHERE first = ?")
        messagesNaming = try connection.prepare(
            "SELECT first, length(bodies), instr(bodies, ?) FROM messages WHERE first > ? ORDER BY first")
        rewriteScheduled = try connection.prepare("UPDATE scheduled SET body = ?, sum = ? WHERE seq = ?")
        scheduledNaming = try connection.prepare(
            "SELECT seq, length(body), instr(body, ?) FROM scheduled WHERE seq > ? ORDER BY seq")
        addScheduled = try connection.prepare(
            """
            INSERT INTO scheduled (seq, due, time, fingerprint, content, audience, app, body, sum)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        removeScheduled = try connection.prepare("DELETE FROM scheduled WHERE seq = ?")
        findScheduled = try connection.prepare(
            "SELECT seq, due, time, app, body, sum, fingerprint, content, audience FROM scheduled WHERE seq = ?")
        scheduledBetween = try connection.prepare("SELECT seq FROM scheduled WHERE seq >= ? AND seq < ? ORDER BY seq")
        due = try connection.prepare(
            """
            SELECT seq, due, time, app, body, sum FROM scheduled
            WHERE (due, seq) > (?, ?) AND due <= ? ORDER BY due, seq LIMIT ?
            """)
        nextDue = try connection.prepare(
            "SELECT due FROM scheduled WHERE (due, seq) > (?, ?) ORDER BY due, seq LIMIT 1")
        addKeys = try connection.prepare(
            "INSERT INTO keys (number, time, accepted, ended, completed) VALUES (?, ?, ?, ?, ?)")
        findKeys = try connection.prepare(
            "SELECT number, accepted FROM keys WHERE number <= ? ORDER BY number DESC LIMIT 1")
        oldestKeys = try connection.prepare(
            "SELECT number, time, accepted, ended, completed FROM keys WHERE number > ? ORDER BY number LIMIT 1")
        pinnedKeys = try connection.prepare(
            "SELECT number, time, accepted, ended, completed FROM keys WHERE number = ?")
        removeKeys = try connection.prepare("DELETE FROM keys WHERE number = ?")
        oldestLog = try connection.prepare(
            "SELECT first, count, time, length(body) FROM log ORDER BY first LIMIT 1")
        removeLog = try connection.prepare("DELETE FROM log WHERE first = ?")
        dateKeys = try connection.prepare("UPDATE keys SET time = ? WHERE time > ?")
        setAge = try connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('age', ?)")
        setAheadSince = try connection.prepare(
            "INSERT OR REPLACE INTO meta (name, value) VALUES ('age_ahead_since', ?)")
        removeAheadSince = try connection.prepare("DELETE FROM meta WHERE name = 'age_ahead_since'")
        addTraceRun = try connection.prepare(
            "INSERT OR REPLACE INTO trace_runs (first, last, lows, rows) VALUES (?, ?, ?, ?)")
        addTraceBlock = try connection.prepare("INSERT OR REPLACE INTO trace_blocks (id, body) VALUES (?, ?)")
        oldestTrace = try connection.prepare(
            // The last number of a damaged run may be any: the run ends before the next one at the latest.
            """
            SELECT first, min(CASE WHEN last < first THEN 9223372036854775807 ELSE last END, coalesce(
                (SELECT min(later.first) - 1 FROM trace_runs AS later WHERE later.first > run.first), last))
            FROM trace_runs AS run ORDER BY first LIMIT 1
            """)
        removeTraceRun = try connection.prepare("DELETE FROM trace_runs WHERE first = ?")
        removeTraceBlocks = try connection.prepare("DELETE FROM trace_blocks WHERE id <= ?")
        addCancel = try connection.prepare(
            """
            INSERT OR REPLACE INTO cancels (number, time, fingerprint, app, id, client, parts)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """)
        setCancel = try connection.prepare(
            "UPDATE cancels SET sent = ?, cancelled = ?, parts = ? WHERE number = ?")
        findCancel = try connection.prepare("SELECT sent, cancelled, length(parts) FROM cancels WHERE number = ?")
        oldestCancel = try connection.prepare(
            "SELECT number, time, fingerprint FROM cancels ORDER BY time LIMIT 1")
        removeCancel = try connection.prepare("DELETE FROM cancels WHERE number = ?")
        dateCancels = try connection.prepare("UPDATE cancels SET time = ? WHERE time > ?")
        findReceipt = try connection.prepare("SELECT time FROM receipts WHERE app = ? AND id = ?")
        addReceipt = try connection.prepare("INSERT INTO receipts (app, id, time) VALUES (?, ?, ?)")
        removeReceipts = try connection.prepare(
            """
            DELETE FROM receipts WHERE (app, id) IN (
                SELECT app, id FROM receipts WHERE time < ? ORDER BY time LIMIT ?) RETURNING time
            """)
        setPaused = try connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('paused/' || ?, ?)")
        removePaused = try connection.prepare("DELETE FROM meta WHERE name = 'paused/' || ?")
        setLogSize = try connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('log_size', ?)")
        setLogDate = try connection.prepare(
            "INSERT OR REPLACE INTO meta (name, value) VALUES ('log_date', ?), ('log_date_last', ?)")
    }
}
