import PushModel
import PushPostgreSQL

/// The statements of the registry, prepared by each connection at their first use.
enum RegistryStatements {
    /// Makes the server use indexes for all of them, and plan each once. All of them read few rows of large tables.
    /// Otherwise the server, which does not know how few, would read a whole table for a page.
    static let plans = PostgreSQLStatement.once(
        sql: """
            SELECT set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
                set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false),
                set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false)
            """)

    // MARK: Writing

    /// Writes devices, if those that exist are as they were read (`$2`) or as an earlier attempt has left them (`$3`), and
    /// if the installations (`$39`) have the devices that were read: their number and the sum of their versions tell.
    /// Returns whether they were. A device that another node has added since it was read violates the primary key.
    ///
    /// The ids are in ascending order, and so are the locks: two writers do not wait for each other. An ORDER BY would
    /// let the server read the whole index instead.
    static let write = PostgreSQLStatement(
        "write-devices",
        sql: """
            WITH locked AS MATERIALIZED (
                SELECT d.version FROM unnest($1::bytea[], $2::bigint[]) AS i (id, before)
                JOIN carillon.devices d ON d.id = i.id AND d.version IN (i.before, $3)
                FOR UPDATE OF d),
            members AS MATERIALIZED (
                SELECT coalesce(sum(d.number), 0) = $40 AND coalesce(sum(d.versions), 0) = $41 AS same
                FROM unnest($38::text[], $39::bytea[]) AS k (app, installation)
                CROSS JOIN LATERAL (
                    SELECT count(*) AS number, sum(version >> 32) AS versions FROM carillon.devices
                    WHERE installation = k.installation AND app = k.app) AS d),
            fits AS MATERIALIZED (
                SELECT count(*) = cardinality($1::bytea[]) AND (SELECT same FROM members) AS yes,
                    coalesce(bool_or(version = $3), false) AS again
                FROM locked),
            input AS MATERIALIZED (
                SELECT * FROM unnest($4::bytea[], $5::int[], $6::text[], $7::bytea[], $8::bytea[], $9::bytea[],
                    $10::bytea[], $11::bytea[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bytea[],
                    $16::bigint[], $17::bigint[], $18::text[], $33::int[], $34::bytea[], $35::bytea[], $36::bytea[],
                    $37::bytea[])
                AS i (id, is_new, app, token, account, locale, platform, app_version, registered, seen, deactivated,
                    reason, evidence, reactivated, tags, kind, activity, activity_type, installation, time_zone)),
            updated AS (
                UPDATE carillon.devices d SET app = i.app, token = i.token, account = nullif(i.account, ''),
                    locale = nullif(i.locale, ''), platform = nullif(i.platform, ''),
                    app_version = nullif(i.app_version, ''), registered = nullif(i.registered, $19),
                    seen = nullif(i.seen, $19), deactivated = nullif(i.deactivated, $19), reason = i.reason,
                    evidence = nullif(i.evidence, $19), reactivated = nullif(i.reactivated, $19),
                    tags = i.tags::bytea[], version = $3, kind = greatest(i.kind, 0), kind_stated = i.kind >= 0,
                    activity = nullif(i.activity, ''), activity_type = nullif(i.activity_type, ''),
                    installation = nullif(i.installation, ''), time_zone = nullif(i.time_zone, '')
                FROM input i, fits WHERE fits.yes AND i.is_new = 0 AND d.id = i.id),
            added AS (
                INSERT INTO carillon.devices (id, app, token, account, locale, platform, app_version, registered, seen,
                    deactivated, reason, evidence, reactivated, tags, version, kind, kind_stated, activity,
                    activity_type, installation, time_zone)
                SELECT i.id, i.app, i.token, nullif(i.account, ''), nullif(i.locale, ''), nullif(i.platform, ''),
                    nullif(i.app_version, ''), nullif(i.registered, $19), nullif(i.seen, $19),
                    nullif(i.deactivated, $19), i.reason, nullif(i.evidence, $19), nullif(i.reactivated, $19),
                    i.tags::bytea[], $3, greatest(i.kind, 0), i.kind >= 0, nullif(i.activity, ''),
                    nullif(i.activity_type, ''), nullif(i.installation, ''), nullif(i.time_zone, '')
                FROM input i, fits WHERE fits.yes AND i.is_new = 1 ORDER BY i.id),
            erased AS (
                DELETE FROM carillon.devices d USING unnest($20::bytea[]) AS i (id), fits
                WHERE fits.yes AND d.id = i.id),
            untagged AS (
                DELETE FROM carillon.device_tags t
                USING unnest($21::bytea[], $22::text[], $23::bytea[]) AS i (tag, app, id), fits
                WHERE fits.yes AND t.tag = i.tag AND t.app = i.app AND t.id = i.id),
            tagged AS (
                INSERT INTO carillon.device_tags (tag, app, id)
                SELECT i.tag, i.app, i.id FROM unnest($24::bytea[], $25::text[], $26::bytea[]) AS i (tag, app, id), fits
                WHERE fits.yes ORDER BY i.tag, i.app, i.id ON CONFLICT DO NOTHING),
            noted AS (
                INSERT INTO carillon.device_changes (id)
                SELECT i.id FROM unnest($27::bytea[]) AS i (id), fits WHERE fits.yes),
            marked AS (
                INSERT INTO carillon.device_marks (part, number)
                SELECT i.part, i.number FROM unnest($28::int[], $29::bigint[]) AS i (part, number), fits
                WHERE fits.yes ORDER BY i.part
                ON CONFLICT (part) DO UPDATE SET number = greatest(device_marks.number, excluded.number)),
            counted AS (
                INSERT INTO carillon.device_counts (slot, registered, unregistered)
                SELECT $30, $31, $32 FROM fits WHERE fits.yes AND NOT fits.again AND ($31 <> 0 OR $32 <> 0)
                ON CONFLICT (slot) DO UPDATE SET registered = device_counts.registered + excluded.registered,
                    unregistered = device_counts.unregistered + excluded.unregistered)
            SELECT yes FROM fits
            """,
        parameters: [
            .byteaArray, .int8Array, .int8, .byteaArray, .int4Array, .textArray, .byteaArray, .byteaArray, .byteaArray,
            .byteaArray, .byteaArray, .int8Array, .int8Array, .int8Array, .byteaArray, .int8Array, .int8Array,
            .textArray, .int8, .byteaArray, .byteaArray, .textArray, .byteaArray, .byteaArray, .textArray, .byteaArray,
            .byteaArray, .int4Array, .int8Array, .int4, .int8, .int8, .int4Array, .byteaArray, .byteaArray,
            .byteaArray, .byteaArray, .textArray, .byteaArray, .int8, .int8,
        ])

    /// Makes the writers of some installations wait for each other until they commit. Without it, two nodes could add an
    /// address each to an installation that both have read without the other's.
    ///
    /// It is a statement of its own, before ``write``, which then sees what others have committed. There are 256 locks, so
    /// that a large write does not exhaust the lock table of the server. All writers take them in the same order.
    static let lock = PostgreSQLStatement(
        "lock-installations",
        sql: """
            SELECT pg_advisory_xact_lock(\(lockClass), slot) FROM (
                SELECT DISTINCT (hashtextextended(k.app || ' ' || encode(k.installation, 'hex'), 0) & 255)::int AS slot
                FROM unnest($1::text[], $2::bytea[]) AS k (app, installation) ORDER BY 1) AS slots
            """,
        parameters: [.textArray, .byteaArray])

    /// A number that tells the locks of the registry from others.
    private static let lockClass: Int32 = 0x4361_7265

    static let counts = PostgreSQLStatement(
        "count-devices",
        sql: """
            SELECT coalesce(sum(registered), 0)::bigint, coalesce(sum(unregistered), 0)::bigint
            FROM carillon.device_counts
            """)

    /// Writes without a change. Its commit waits for the standby, and so for all earlier commits.
    static let touch = PostgreSQLStatement(
        "touch-registry",
        sql: """
            INSERT INTO carillon.device_counts (slot, registered, unregistered) VALUES ($1, 0, 0)
            ON CONFLICT (slot) DO UPDATE SET registered = device_counts.registered
            """,
        parameters: [.int4])

    /// Removes the oldest devices that never registered, and returns them.
    static let forget = PostgreSQLStatement(
        "forget-devices",
        sql: """
            WITH oldest AS MATERIALIZED (
                SELECT id FROM carillon.devices WHERE registered IS NULL ORDER BY deactivated LIMIT $1
                FOR UPDATE SKIP LOCKED),
            erased AS (
                DELETE FROM carillon.devices d USING oldest
                WHERE d.id = oldest.id RETURNING d.id),
            noted AS (INSERT INTO carillon.device_changes (id) SELECT id FROM erased),
            counted AS (
                INSERT INTO carillon.device_counts (slot, registered, unregistered)
                SELECT $2, 0, -count(*) FROM erased
                ON CONFLICT (slot) DO UPDATE SET unregistered = device_counts.unregistered + excluded.unregistered)
            SELECT id FROM erased
            """,
        parameters: [.int8, .int4])

    static let mark = PostgreSQLStatement(
        "read-mark", sql: "SELECT number FROM carillon.device_marks WHERE part = $1", parameters: [.int4])

    /// Sets the mark of a part, whatever it was.
    static let setMark = PostgreSQLStatement(
        "set-mark",
        sql: """
            INSERT INTO carillon.device_marks (part, number) VALUES ($1, $2)
            ON CONFLICT (part) DO UPDATE SET number = excluded.number
            """,
        parameters: [.int4, .int8])

    // MARK: Following

    /// The end of what a snapshot contains: transactions from this number on, and those in the list, are not in it.
    static let snapshot = PostgreSQLStatement(
        "registry-snapshot",
        sql: """
            SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint,
                ARRAY(SELECT x::text::bigint FROM pg_snapshot_xip(s) AS x)
            FROM pg_current_snapshot() AS s
            """)

    /// Whether the user of an inactive device was erased, as ``Device/isEmptied`` has it.
    private static let isEmptied = "reason = '\(Deactivation.erased)' AND token = ''"

    /// The devices that transactions have changed that were not in an earlier snapshot, with their state now: whether they
    /// are inactive, whether they are of another kind than most, the Live Activity that they update, and whether their
    /// users were erased.
    static let changes = PostgreSQLStatement(
        "registry-changes",
        sql: """
            SELECT c.id, d.deactivated IS NOT NULL, coalesce(d.kind <> 0, false), d.app, d.activity,
                d.deactivated IS NOT NULL AND coalesce(d.is_emptied, false)
            FROM (
                SELECT id FROM carillon.device_changes WHERE xact >= $1
                UNION SELECT id FROM unnest($2::bigint[]) AS open (xact)
                    JOIN carillon.device_changes USING (xact) LIMIT $3) AS c
            LEFT JOIN LATERAL (
                SELECT deactivated, kind, app, activity, \(isEmptied) AS is_emptied
                FROM carillon.devices WHERE id = c.id LIMIT 1) AS d ON true
            """,
        parameters: [.int8, .int8Array, .int8])

    static let trimChanges = PostgreSQLStatement(
        "trim-changes", sql: "DELETE FROM carillon.device_changes WHERE xact < $1", parameters: [.int8])

    static let inactive = PostgreSQLStatement(
        "inactive-devices",
        sql: """
            SELECT id FROM carillon.devices WHERE deactivated IS NOT NULL AND id > $1 ORDER BY id LIMIT $2
            """,
        parameters: [.bytea, .int8])

    static let ofOtherKinds = PostgreSQLStatement(
        "devices-of-other-kinds",
        sql: "SELECT id FROM carillon.devices WHERE kind <> 0 AND id > $1 ORDER BY id LIMIT $2",
        parameters: [.bytea, .int8])

    // MARK: Reading

    static let columns = """
        id, app, token, account, locale, platform, app_version, registered, seen, deactivated, reason, evidence, \
        reactivated, tags, version, kind, kind_stated, activity, activity_type, installation, time_zone
        """

    static let devices = PostgreSQLStatement(
        "read-devices", sql: "SELECT \(columns) FROM carillon.devices WHERE id = ANY($1)", parameters: [.byteaArray])

    static let members = PostgreSQLStatement(
        "read-installations",
        sql: """
            SELECT d.* FROM unnest($1::text[], $2::bytea[]) AS k (app, installation)
            CROSS JOIN LATERAL (
                SELECT \(columns) FROM carillon.devices
                WHERE installation = k.installation AND app = k.app ORDER BY id) AS d
            """,
        parameters: [.textArray, .byteaArray])

    /// The last time at which the devices were certainly active.
    static let sightings = PostgreSQLStatement(
        "sightings",
        sql: "SELECT id, greatest(seen, registered), token, time_zone FROM carillon.devices WHERE id = ANY($1)",
        parameters: [.byteaArray])

    /// Addresses of Live Activities that are active and were not seen since. The order makes the server use their index.
    static let silentActivities = PostgreSQLStatement(
        "silent-activities",
        sql: """
            SELECT id FROM carillon.devices WHERE activity IS NOT NULL AND deactivated IS NULL AND seen <= $1
            ORDER BY activity LIMIT $2
            """,
        parameters: [.int8, .int8])

    static let endedActivities = PostgreSQLStatement(
        "ended-activities",
        sql: """
            SELECT id FROM carillon.devices WHERE activity IS NOT NULL AND deactivated <= $1 ORDER BY activity LIMIT $2
            """,
        parameters: [.int8, .int8])

    static let everyone = everyone("everyone", columns: "id, token")
    /// The same with the locales, for a message that has forms by locale.
    static let everyoneWithLocales = everyone("everyone-with-locales", columns: "id, token, locale")

    private static func everyone(_ name: String, columns: String) -> PostgreSQLStatement {
        PostgreSQLStatement(
            name,
            sql: """
                SELECT \(columns) FROM carillon.devices WHERE app = $1 AND kind = $4 AND id > $2
                    AND deactivated IS NULL ORDER BY id LIMIT $3
                """,
            parameters: [.text, .bytea, .int8, .int4])
    }

    /// The active addresses of Live Activities.
    static let activities = PostgreSQLStatement(
        "addresses-of-activities",
        sql: """
            SELECT id, token FROM carillon.devices
            WHERE activity = ANY($1) AND app = $2 AND id > $3 AND deactivated IS NULL ORDER BY id LIMIT $4
            """,
        parameters: [.byteaArray, .text, .bytea, .int8])

    /// One address of Live Activities that has ended.
    static let inactiveOfActivities = PostgreSQLStatement(
        "inactive-addresses-of-activities",
        sql: """
            SELECT id FROM carillon.devices
            WHERE activity = ANY($1) AND app = $2 AND deactivated IS NOT NULL LIMIT 1
            """,
        parameters: [.byteaArray, .text])

    /// The devices of users, user by user, with their locales if the message has forms. The number of the user comes first,
    /// from 1.
    static func users(for wording: Wording?) -> PostgreSQLStatement { wording == nil ? users : usersWithLocales }

    private static let users = users("devices-of-users", columns: "id, token")
    private static let usersWithLocales = users("devices-of-users-with-locales", columns: "id, token, locale")

    private static func users(_ name: String, columns: String) -> PostgreSQLStatement {
        PostgreSQLStatement(
            name,
            sql: """
                SELECT u.place, d.* FROM unnest($1::bytea[]) WITH ORDINALITY AS u (name, place)
                CROSS JOIN LATERAL (
                    SELECT \(columns) FROM carillon.devices
                    WHERE account = u.name AND app = $2 AND kind = $5 AND deactivated IS NULL
                        AND id > CASE u.place WHEN 1 THEN $3 ELSE '' END
                    ORDER BY id LIMIT $4) AS d
                LIMIT $4
                """,
            parameters: [.byteaArray, .text, .bytea, .int8, .int4])
    }

    /// The devices with one tag, in the order of their ids, with their locales if the message has forms. Those that get no
    /// message of the kind are in the result without a token, so that it tells how many devices the tag has. `OFFSET 0`
    /// keeps the database from looking for all devices of the kind instead.
    static func ofTag(for wording: Wording?) -> PostgreSQLStatement { wording == nil ? ofTag : ofTagWithLocales }

    private static let ofTag = ofTag("devices-of-tag", columns: "t.id, coalesce(d.token, '')")
    private static let ofTagWithLocales = ofTag(
        "devices-of-tag-with-locales", columns: "t.id, coalesce(d.token, ''), d.locale")

    private static func ofTag(_ name: String, columns: String) -> PostgreSQLStatement {
        PostgreSQLStatement(
            name,
            sql: """
                SELECT \(columns) FROM (
                    SELECT id FROM carillon.device_tags WHERE tag = $1 AND app = $2 ORDER BY id LIMIT $3) AS t
                LEFT JOIN LATERAL (
                    SELECT token, locale, kind, deactivated FROM carillon.devices WHERE id = t.id OFFSET 0
                ) AS d ON d.kind = $4 AND d.deactivated IS NULL
                ORDER BY t.id
                """,
            parameters: [.bytea, .text, .int8, .int4])
    }

    /// What is left of the devices of erased users.
    static let emptied = PostgreSQLStatement(
        "emptied-devices-of-users",
        sql: """
            SELECT d.id FROM unnest($1::bytea[]) AS u (name)
            CROSS JOIN LATERAL (
                SELECT id FROM carillon.devices
                WHERE account = u.name AND app = $2 AND kind = $4 AND deactivated IS NOT NULL AND \(isEmptied)
                LIMIT $3) AS d
            LIMIT $3
            """,
        parameters: [.byteaArray, .text, .int8, .int4])

    /// What is left of the devices of all erased users.
    static let allEmptied = PostgreSQLStatement(
        "emptied-devices",
        sql: """
            SELECT id FROM carillon.devices
            WHERE deactivated IS NOT NULL AND \(isEmptied) AND id > $1 ORDER BY id LIMIT $2
            """,
        parameters: [.bytea, .int8])

    /// How many devices have each of some tags, counted up to a bound.
    static let tagCounts = PostgreSQLStatement(
        "count-tags",
        sql: """
            SELECT t.place, (SELECT count(*) FROM (
                SELECT FROM carillon.device_tags WHERE tag = t.tag AND app = $2 LIMIT $3) AS few)
            FROM unnest($1::bytea[]) WITH ORDINALITY AS t (tag, place)
            """,
        parameters: [.byteaArray, .text, .int8])

    /// The first devices with each of some tags. The number of the tag comes first, from 1.
    static let tagged = PostgreSQLStatement(
        "tagged-devices",
        sql: """
            SELECT t.place, d.id FROM unnest($1::bytea[]) WITH ORDINALITY AS t (tag, place)
            CROSS JOIN LATERAL (
                SELECT id FROM carillon.device_tags WHERE tag = t.tag AND app = $2 AND id > $3 ORDER BY id LIMIT $4) AS d
            """,
        parameters: [.byteaArray, .text, .bytea, .int8])
}
