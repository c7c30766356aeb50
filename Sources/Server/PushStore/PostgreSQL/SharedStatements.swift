import PushPostgreSQL

/// The tables and statements of what the nodes share about their apps.
///
/// - `app_marks`: what operators and nodes have decided about an app. `kind` is one of:
///   - `paused`: an operator has paused the app at the time `since`.
///   - `brake`: `number` is the generation, and the only number of `numbers` is 1 if the brake is on. `author` is the
///     random number of the process that changed it last.
///   - `brake-event`: the event of a change of a brake that is not published yet (``BrakeEvent``). `node` is its name,
///     `number` the generation, and `numbers` has 1 if the brake was set, the candidates and the answers.
///   - `operator-event`: the event of an operator that is not published yet (``OperatorEvent``). `node` is its name,
///     `since` its time, `numbers` has its kind and `done_at`, and `author` its texts.
///   - `age`: the clock by which data ages (`AgeClock`): its time is `since`, and the only number of `numbers`, if any, is
///     the time of the database's clock when that was found to be ahead. It concerns no app.
///   - `renewal`: the number of renewals of the lease of `node`. It concerns no app.
///   - `webhook`: the standing of the webhook `app` is `author`, and `number` ascends with each change of it and with
///     each move of a part. It concerns no app.
///   - `webhook-part`: the position of a webhook in the part `node`, as text, is `author`. `number` ascends with each move.
///   - `scale`: the smallest and largest number of connections, for all nodes together or for `node`, and the range in
///     the configuration that they replace.
/// - `reports`: the last report of each node (`NodeReportRecord`). `run` is a random number of its process, and `number`
///   ascends.
enum SharedStatements {
    static let pausedKind = "paused"
    static let brakeKind = "brake"
    static let brakeEventKind = "brake-event"
    static let operatorEventKind = "operator-event"
    static let scaleKind = "scale"
    static let renewalKind = "renewal"
    static let ageKind = "age"
    static let webhookKind = "webhook"
    static let webhookPartKind = "webhook-part"

    static let tables = [
        """
        CREATE TABLE carillon.app_marks (
            app text NOT NULL, kind text NOT NULL, node text NOT NULL DEFAULT '', since bigint NOT NULL,
            number bigint NOT NULL DEFAULT 0, numbers bigint[] NOT NULL DEFAULT '{}', author text NOT NULL DEFAULT '',
            PRIMARY KEY (app, kind, node))
        """,
        """
        CREATE TABLE carillon.reports (
            node text PRIMARY KEY, run bigint NOT NULL, number bigint NOT NULL, body bytea NOT NULL)
        """,
    ]

    /// The marks of apps and webhooks. The rows of renewals stay also when their nodes have left.
    static let marks = PostgreSQLStatement(
        "marks",
        sql: """
            SELECT app, kind, node, since, number, numbers, author FROM carillon.app_marks
            WHERE kind NOT IN ('\(renewalKind)', '\(webhookPartKind)')
            """,
        parameters: [])

    static let setPaused = PostgreSQLStatement(
        "set-paused",
        sql: """
            INSERT INTO carillon.app_marks (app, kind, since) VALUES ($1, 'paused', $2)
            ON CONFLICT (app, kind, node) DO UPDATE SET since = excluded.since
            """,
        parameters: [.text, .int8])
    static let removePaused = PostgreSQLStatement(
        "remove-paused", sql: "DELETE FROM carillon.app_marks WHERE app = $1 AND kind = 'paused'",
        parameters: [.text])

    /// Changes no row if the brake is on already, or was released since the generation. The row of the event counts.
    static let setBrake = PostgreSQLStatement(
        "set-brake",
        sql: """
            WITH changed AS (
                INSERT INTO carillon.app_marks AS mark (app, kind, since, number, numbers, author)
                VALUES ($1, 'brake', $2, $3, ARRAY[1::bigint], $4)
                ON CONFLICT (app, kind, node) DO UPDATE
                SET since = excluded.since, numbers = excluded.numbers, author = excluded.author
                WHERE mark.number = excluded.number AND mark.numbers <> excluded.numbers RETURNING app)
            \(addBrakeEvent)
            """,
        parameters: [.text, .int8, .int8, .text, .text, .int8Array])
    static let releaseBrake = PostgreSQLStatement(
        "release-brake",
        sql: """
            WITH changed AS (
                UPDATE carillon.app_marks SET since = $2, number = number + 1, numbers = ARRAY[0::bigint], author = $4
                WHERE app = $1 AND kind = 'brake' AND number = $3 AND numbers = ARRAY[1::bigint] RETURNING app)
            \(addBrakeEvent)
            """,
        parameters: [.text, .int8, .int8, .text, .text, .int8Array])

    private static let addBrakeEvent = """
        INSERT INTO carillon.app_marks (app, kind, node, since, number, numbers)
        SELECT app, 'brake-event', $5, $2, $3, $6 FROM changed
        ON CONFLICT (app, kind, node) DO UPDATE SET since = excluded.since, numbers = excluded.numbers
        """

    /// Follows ``StoreStatements/addGroups`` in its transaction, and changes nothing if that was fenced.
    static let removeEvent = PostgreSQLStatement(
        "remove-event",
        sql: """
            DELETE FROM carillon.app_marks USING carillon.leases
            WHERE leases.part = $1 AND leases.epoch = $2 AND app = $3 AND kind = $4 AND app_marks.node = $5
            """,
        parameters: [.int4, .int8, .text, .text, .text])

    static let addOperatorEvent = PostgreSQLStatement(
        "add-operator-event",
        sql: """
            INSERT INTO carillon.app_marks (app, kind, node, since, numbers, author)
            VALUES ($1, '\(operatorEventKind)', $2, $3, $4, $5) ON CONFLICT DO NOTHING
            """,
        parameters: [.text, .text, .int8, .int8Array, .text])

    static let setAge = PostgreSQLStatement(
        "set-age",
        sql: """
            INSERT INTO carillon.app_marks (app, kind, since, numbers) VALUES ('', '\(ageKind)', $1, $2)
            ON CONFLICT (app, kind, node) DO UPDATE SET since = excluded.since, numbers = excluded.numbers
            """,
        parameters: [.int8, .int8Array])

    static let setScale = PostgreSQLStatement(
        "set-scale",
        sql: """
            INSERT INTO carillon.app_marks (app, kind, node, since, numbers) VALUES ($1, 'scale', $2, $3, $4)
            ON CONFLICT (app, kind, node) DO UPDATE SET since = excluded.since, numbers = excluded.numbers
            """,
        parameters: [.text, .text, .int8, .int8Array])
    static let removeScales = PostgreSQLStatement(
        "remove-scales", sql: "DELETE FROM carillon.app_marks WHERE app = $1 AND kind = 'scale'", parameters: [.text])

    static let report = PostgreSQLStatement(
        "report",
        sql: """
            INSERT INTO carillon.reports (node, run, number, body) VALUES ($1, $2, $3, $4)
            ON CONFLICT (node) DO UPDATE SET run = excluded.run, number = excluded.number, body = excluded.body
            """,
        parameters: [.text, .int8, .int8, .bytea])

    /// The reports of other nodes that are not among those that are known already.
    static let reports = PostgreSQLStatement(
        "reports",
        sql: """
            SELECT node, run, number, body FROM carillon.reports
            WHERE node <> $1 AND (run, number) NOT IN (SELECT r, n FROM unnest($2::bigint[], $3::bigint[]) AS k (r, n))
                AND octet_length(body) <= $4
            """,
        parameters: [.text, .int8Array, .int8Array, .int8])
}
