import PushPostgreSQL

/// The statements of the cluster. Each is a transaction of its own, whose conditions are in its `WHERE` clause.
///
/// All times are those of the database. `clock_timestamp()` is the time at which a row is written, after its lock was
/// waited for, so that a lease never ends earlier than its owner believes.
enum ClusterStatements {
    /// An operation that waits for a row longer than this is refused, so that a renewal does not wait behind it until
    /// the connection is given up.
    static func lockTimeout(milliseconds: Int64) -> PostgreSQLStatement {
        .once(sql: "SET lock_timeout = \(milliseconds)")
    }

    /// Reads the store, and the number of the last renewal of a node.
    static let store = PostgreSQLStatement.once(
        sql: """
            SELECT version, parts, incarnation, (SELECT number FROM carillon.app_marks
                WHERE app = '' AND kind = '\(SharedStatements.renewalKind)' AND node = $1)
            FROM carillon.store
            """,
        parameters: [.text])

    /// Reads both tables as they were at one moment. The first column tells the kind of the row: the time, a node, or a
    /// lease. The row of the time has the incarnation of the cluster, as ``ClusterTables/number(ofIncarnation:)`` forms it.
    static let snapshot = PostgreSQLStatement(
        "cluster-snapshot",
        sql: """
            WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
            SELECT 0, now, NULL::text,
                (SELECT ('x' || encode(substr(incarnation, 1, 8), 'hex'))::bit(64)::bigint FROM carillon.store),
                NULL::text, NULL::text, NULL::text, NULL::timestamptz, NULL::bigint, NULL::text, NULL::int,
                NULL::text, NULL::text
            FROM clock
            UNION ALL
            SELECT 1, started, id, incarnation, address, public_key, state, until, lease, version, NULL, router, http
                FROM carillon.nodes
            UNION ALL
            SELECT 2, since, node, epoch, NULL, NULL, NULL, NULL, NULL, NULL, part, NULL, NULL FROM carillon.leases
            """)

    static let join = PostgreSQLStatement(
        "cluster-join",
        sql: """
            INSERT INTO carillon.nodes
                (id, incarnation, address, public_key, state, until, lease, version, started)
            VALUES ($1, $2, $3, $4, 'live', clock_timestamp() + $5 * interval '1 microsecond', $5, $6,
                clock_timestamp())
            ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation, address = excluded.address,
                public_key = excluded.public_key, state = 'live',
                until = clock_timestamp() + $5 * interval '1 microsecond', lease = excluded.lease,
                version = excluded.version, started = excluded.started, router = NULL, http = NULL
            WHERE CASE WHEN nodes.incarnation = excluded.incarnation THEN nodes.state = 'live'
                ELSE nodes.state IN ('dead', 'left') OR nodes.incarnation = ANY($7)
                    OR ($8 AND nodes.until < clock_timestamp()) END
            """,
        parameters: [.text, .int8, .text, .text, .int8, .text, .int8Array, .bool])

    /// Returns the number of the renewal (``SeenRenewal``). No other node writes its row, which is never removed.
    static let renew = PostgreSQLStatement(
        "cluster-renew",
        sql: """
            WITH renewed AS (
                UPDATE carillon.nodes SET until = clock_timestamp() + lease * interval '1 microsecond', state = $3,
                    router = $4, http = $5
                WHERE id = $1 AND incarnation = $2 AND state IN ('live', 'draining') RETURNING id)
            INSERT INTO carillon.app_marks AS mark (app, kind, node, since, number)
            SELECT '', '\(SharedStatements.renewalKind)', id, 0, 1 FROM renewed
            ON CONFLICT (app, kind, node) DO UPDATE SET number = mark.number + 1 RETURNING number
            """,
        parameters: [.text, .int8, .text, .text, .text])

    static let declareDead = PostgreSQLStatement(
        "cluster-declare-dead",
        sql: """
            UPDATE carillon.nodes SET state = 'dead'
            WHERE id = $1 AND incarnation = $2 AND state IN ('live', 'draining') AND until < clock_timestamp()
            """,
        parameters: [.text, .int8])

    static let shorten = PostgreSQLStatement(
        "cluster-shorten",
        sql: """
            UPDATE carillon.nodes SET until = clock_timestamp() + lease * interval '1 microsecond'
            WHERE id = $1 AND incarnation = $2 AND until = $3
            """,
        parameters: [.text, .int8, .timestamptz])

    static let take = PostgreSQLStatement(
        "cluster-take",
        sql: """
            UPDATE carillon.leases SET epoch = epoch + 1, node = $1, since = clock_timestamp()
            WHERE part = $2 AND epoch = $3 AND node IS NOT DISTINCT FROM $4 RETURNING epoch
            """,
        parameters: [.text, .int4, .int8, .text])

    static let handOver = PostgreSQLStatement(
        "cluster-hand-over",
        sql: """
            UPDATE carillon.leases SET epoch = epoch + 1, node = $4, since = clock_timestamp()
            WHERE part = $2 AND epoch = $3 AND node = $1
            """,
        parameters: [.text, .int4, .int8, .text])

    static let leave = PostgreSQLStatement(
        "cluster-leave",
        sql: "UPDATE carillon.nodes SET state = 'left' WHERE id = $1 AND incarnation = $2",
        parameters: [.text, .int8])

    /// Removes nodes that left or died more than a day ago, except those that partitions still name, with their reports.
    static let removeOldNodes = PostgreSQLStatement.once(
        sql: """
            WITH gone AS (
                DELETE FROM carillon.nodes
                WHERE state IN ('dead', 'left') AND until < clock_timestamp() - interval '1 day'
                    AND NOT EXISTS (SELECT FROM carillon.leases WHERE leases.node = nodes.id)
                RETURNING id)
            DELETE FROM carillon.reports USING gone WHERE node = id
            """)
}
