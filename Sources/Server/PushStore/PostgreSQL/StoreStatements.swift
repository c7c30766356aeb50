import PushPostgreSQL

/// The statements of the ledger, prepared by each connection at their first use.
enum StoreStatements {
    // MARK: Writing

    /// Stores groups of several parts, and returns the parts whose epoch is the current one. Nothing is written for the
    /// others. Rows that exist are left as they are, so that groups whose outcome is unknown can be stored once more.
    static let addGroups = PostgreSQLStatement(
        "add-groups",
        sql: """
            WITH held AS MATERIALIZED (
                SELECT part FROM carillon.leases
                JOIN unnest($1::int[], $2::bigint[]) AS mine (p, e) ON part = p AND epoch = e FOR SHARE OF leases),
            added AS (
                INSERT INTO carillon.groups (part, number, day, time, keys, log, sent)
                SELECT p, n, $4, $5, k, l, s
                FROM unnest($13::int[], $3::bigint[], $6::bytea[], $7::bytea[], $14::bytea[])
                    AS rows (p, n, k, l, s) JOIN held ON held.part = p ON CONFLICT DO NOTHING),
            filled AS (
                INSERT INTO carillon.bodies (part, number, hour, time, heads, bodies)
                SELECT p, n, $8, $5, h, b FROM unnest($9::int[], $10::bigint[], $11::bytea[], $12::bytea[])
                    AS rows (p, n, h, b) JOIN held ON held.part = p ON CONFLICT DO NOTHING)
            SELECT part FROM held
            """,
        parameters: [
            .int4Array, .int8Array, .int8Array, .int4, .int8, .byteaArray, .byteaArray, .int4, .int4Array, .int8Array,
            .byteaArray, .byteaArray, .int4Array, .byteaArray,
        ])

    // The statements below follow `addGroups` in its transaction, which holds the leases. They compare the epoch as
    // well, because it may hold some of them only.

    static let addLater = PostgreSQLStatement(
        "add-later",
        sql: """
            INSERT INTO carillon.later (part, seq, due, time, fingerprint, content, audience, app, body)
            SELECT part, $3, $4, $5, $6, $7, $8, $9, $10 FROM carillon.leases WHERE part = $1 AND epoch = $2
            ON CONFLICT DO NOTHING
            """,
        parameters: [.int4, .int8, .int8, .int8, .int8, .int8, .int8, .int8, .text, .bytea])

    static let removeLater = PostgreSQLStatement(
        "remove-later",
        sql: """
            DELETE FROM carillon.later USING carillon.leases
            WHERE leases.part = $1 AND leases.epoch = $2 AND later.part = $1 AND later.seq = ANY($3)
            """,
        parameters: [.int4, .int8, .int8Array])

    static let addCancel = PostgreSQLStatement(
        "add-cancel",
        sql: """
            INSERT INTO carillon.cancels (part, number, time, fingerprint, app, id, client, parts)
            SELECT part, $3, $4, $5, $6, $7, $8, $9 FROM carillon.leases WHERE part = $1 AND epoch = $2
            ON CONFLICT (part, number) DO UPDATE SET time = excluded.time, fingerprint = excluded.fingerprint,
                app = excluded.app, id = excluded.id, client = excluded.client, sent = NULL, cancelled = NULL,
                parts = excluded.parts
            """,
        parameters: [.int4, .int8, .int8, .int8, .int8, .text, .text, .text, .bytea])

    static let changeCancel = PostgreSQLStatement(
        "change-cancel",
        sql: """
            UPDATE carillon.cancels SET sent = $4, cancelled = $5, parts = $6 FROM carillon.leases
            WHERE leases.part = $1 AND leases.epoch = $2 AND cancels.part = $1 AND cancels.number = $3
            """,
        parameters: [.int4, .int8, .int8, .int8, .int8, .bytea])

    static let removeCancels = PostgreSQLStatement(
        "remove-cancels",
        sql: """
            DELETE FROM carillon.cancels USING carillon.leases
            WHERE leases.part = $1 AND leases.epoch = $2 AND cancels.part = $1 AND cancels.number = ANY($3)
            """,
        parameters: [.int4, .int8, .int8Array])

    static let addReceipt = PostgreSQLStatement(
        "add-receipt",
        sql: """
            INSERT INTO carillon.receipts (app, id, part, time)
            SELECT $3, $4, part, $5 FROM carillon.leases WHERE part = $1 AND epoch = $2 ON CONFLICT DO NOTHING
            """,
        parameters: [.int4, .int8, .text, .text, .int8])

    /// Writes nothing but its own commit, which waits for the standby.
    static let probe = PostgreSQLStatement("probe", sql: "SELECT pg_current_xact_id()::text")

    // MARK: Reading

    /// Locks the leases of parts, and returns those whose epoch is the current one. The lock is a write: its commit waits for
    /// the standby, which a primary that was replaced does not have.
    static let holdParts = PostgreSQLStatement(
        "hold-parts",
        sql: """
            SELECT part FROM carillon.leases
            JOIN unnest($1::int[], $2::bigint[]) AS mine (p, e) ON part = p AND epoch = e FOR SHARE OF leases
            """,
        parameters: [.int4Array, .int8Array])

    /// The rows of keys that contain the given numbers.
    static let findKeys = PostgreSQLStatement(
        "find-keys",
        sql: """
            SELECT DISTINCT ON (number) number, keys FROM unnest($2::bigint[]) AS wanted,
                LATERAL (SELECT number, keys FROM carillon.groups WHERE part = $1 AND number <= wanted
                    ORDER BY number DESC LIMIT 1) AS found
            ORDER BY number
            """,
        parameters: [.int4, .int8Array])
    static let findBodies = PostgreSQLStatement(
        "find-bodies",
        sql: """
            SELECT number, time, heads, bodies FROM carillon.bodies WHERE part = $1 AND number = ANY($2)
            ORDER BY number
            """,
        parameters: [.int4, .int8Array])
    /// The scheduled messages in the order of the numbers. Once they have a number of bytes, those that follow have no
    /// body: one may name 100,000 tokens.
    static let findLater = PostgreSQLStatement(
        "find-later",
        sql: """
            SELECT seq, time, app, earlier < $3, CASE WHEN earlier < $3 THEN body END FROM (
                SELECT seq, time, app, body, place,
                    sum(octet_length(body)) OVER (ORDER BY place) - octet_length(body) AS earlier
                FROM unnest($1::int[], $2::bigint[]) WITH ORDINALITY AS wanted (p, s, place)
                JOIN carillon.later ON part = p AND seq = s) AS found
            ORDER BY place
            """,
        parameters: [.int4Array, .int8Array, .int8])
    static let findCancels = PostgreSQLStatement(
        "find-cancels",
        sql: """
            SELECT number, sent, cancelled, octet_length(parts)::bigint FROM carillon.cancels
            WHERE part = $1 AND number = ANY($2)
            """,
        parameters: [.int4, .int8Array])
    static let findReceipts = PostgreSQLStatement(
        "find-receipts",
        sql: """
            SELECT app, id FROM unnest($1::text[], $2::text[]) AS wanted (a, i)
            JOIN carillon.receipts ON app = a AND id = i
            """,
        parameters: [.textArray, .textArray])

    // MARK: The start of a part

    static let bodiesAfter = PostgreSQLStatement(
        "bodies-after",
        sql: """
            SELECT DISTINCT ON (number) number, time, heads FROM carillon.bodies WHERE part = $1 AND number > $2
            ORDER BY number LIMIT $3
            """,
        parameters: [.int4, .int8, .int8])
    static let laterAfter = PostgreSQLStatement(
        "later-after",
        sql: """
            SELECT seq, due, fingerprint, content, audience, app FROM carillon.later WHERE part = $1 AND seq > $2
            ORDER BY seq LIMIT $3
            """,
        parameters: [.int4, .int8, .int8])
    static let keysAfter = PostgreSQLStatement(
        "keys-after",
        sql: "SELECT number, keys, time FROM carillon.groups WHERE part = $1 AND number > $2 ORDER BY number LIMIT $3",
        parameters: [.int4, .int8, .int8])
    static let cancelsAfter = PostgreSQLStatement(
        "cancels-after",
        sql: """
            SELECT number, fingerprint, app, id, client, sent IS NULL, parts, time FROM carillon.cancels
            WHERE part = $1 AND number > $2 ORDER BY number LIMIT $3
            """,
        parameters: [.int4, .int8, .int8])
    static let epoch = PostgreSQLStatement(
        "epoch",
        sql: "SELECT epoch, day, hour FROM carillon.leases JOIN carillon.horizons USING (part) WHERE part = $1",
        parameters: [.int4])
    /// Works with tables of any version: those before the third do not have the rule.
    static let store = PostgreSQLStatement.once(
        sql: """
            SELECT version, parts, coalesce((to_jsonb(s) ->> 'part_rule')::int, 0), secret, incarnation
            FROM carillon.store s
            """)
    /// Takes all parts for one node, whatever node had them.
    static let takeAll = PostgreSQLStatement.once(
        sql: "UPDATE carillon.leases SET epoch = epoch + 1, node = $1 RETURNING part, epoch", parameters: [.text])
}

/// The statements with which expired rows are examined and removed.
extension StoreStatements {
    static let agedKeys = PostgreSQLStatement(
        "aged-keys",
        sql: """
            SELECT number, time, keys FROM carillon.groups WHERE part = $1 AND number > $2 ORDER BY number LIMIT $3
            """,
        parameters: [.int4, .int8, .int8])
    static let pinnedKeys = PostgreSQLStatement(
        "pinned-keys",
        sql: "SELECT number, time, keys FROM carillon.groups WHERE part = $1 AND number = $2",
        parameters: [.int4, .int8])
    /// The first row of keys after a number that is not dated ahead.
    static let firstRowInTime = PostgreSQLStatement(
        "first-row-in-time",
        sql: """
            SELECT number, time FROM carillon.groups WHERE part = $1 AND number > $2 AND time <= $3
            ORDER BY number LIMIT 1
            """,
        parameters: [.int4, .int8, .int8])
    static let removeOldReceipts = PostgreSQLStatement(
        "remove-old-receipts", sql: "DELETE FROM carillon.receipts WHERE time < $1", parameters: [.int8])
}
