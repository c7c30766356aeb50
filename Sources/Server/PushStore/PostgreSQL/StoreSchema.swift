import PushModel
import PushPostgreSQL
import PushWire

/// The tables of a cluster, in a schema of their own. A number in them contains its part (``EventNumber``).
///
/// - `store`: one row with the version of the tables, the number of parts and the rule that assigns messages to them
///   (``PartitionMap``), neither of which ever changes, and the secret that names devices. `incarnation` changes when the
///   database is restored from a backup.
/// - `leases`: the owner of each part. A write locks and compares the epoch, so that a former owner writes nothing.
/// - `horizons`: the first day of `groups` and the first hour of `bodies` that each part needs. They never go back.
/// - `nodes`: the nodes and their leases. A renewal writes here, so that it does not wait for the locks of writers.
/// - `groups`: the log and the keys, one row for each part and group. Partitions by day are dropped as a whole.
/// - `bodies`: the bodies of waiting messages. Messages that wait for hours are copied to a later hour, so that the
///   partitions by hour can be dropped.
/// - `later`: messages with a `not_before` in the future, until they are done.
/// - `cancels`, `receipts`: as in the ledger of a single node.
///
/// ``SharedStatements`` has the tables of what the nodes share about their apps.
enum StoreSchema {
    static let version: Int32 = 3
    /// The version of the tables while an import into them has not ended.
    static let unfinishedImport: Int32 = 0

    /// Why this program cannot use tables of a version, and what to do; nil if it can.
    static func fault(of version: Int32) -> String? {
        switch version {
        case Self.version: nil
        case unfinishedImport:
            "an import into the store has not ended; wait for its end, or repeat 'carillon store import'"
        case 1..<Self.version:
            "the store has version \(version) of the tables, and this program needs version \(Self.version); stop all "
                + "nodes, and run 'carillon store migrate'"
        case ..<Self.version:
            "the store has version \(version) of the tables, which no Carillon has written; restore the database from a "
                + "backup"
        default:
            "the store has version \(version) of the tables, and this program has \(Self.version); start the version of "
                + "Carillon that wrote them, or a newer one"
        }
    }

    /// Why a database without tables cannot be used, and what to do.
    static func absence(in database: String) -> String {
        "the database \(database) has no store; make one with 'carillon store init'"
    }

    static let tables = [
        "CREATE SCHEMA carillon",
        """
        CREATE TABLE carillon.store (
            one bool PRIMARY KEY DEFAULT true CHECK (one), version int NOT NULL, parts int NOT NULL,
            part_rule int NOT NULL, secret bytea NOT NULL, incarnation bytea NOT NULL,
            created timestamptz NOT NULL DEFAULT now())
        """,
        """
        CREATE TABLE carillon.leases (part int PRIMARY KEY, epoch bigint NOT NULL, node text, since timestamptz)
        """,
        // `lease` is in microseconds. `router` and `http` are addresses for producers.
        """
        CREATE TABLE carillon.nodes (
            id text PRIMARY KEY, incarnation bigint NOT NULL CHECK (incarnation > 0), address text NOT NULL,
            public_key text NOT NULL, state text NOT NULL CHECK (state IN ('live', 'draining', 'left', 'dead')),
            until timestamptz NOT NULL, lease bigint NOT NULL CHECK (lease > 0), version text NOT NULL,
            started timestamptz NOT NULL, router text, http text) WITH (fillfactor = 50)
        """,
        """
        CREATE TABLE carillon.horizons (part int PRIMARY KEY, day int NOT NULL, hour int NOT NULL)
        """,
        """
        CREATE TABLE carillon.groups (
            part int NOT NULL, number bigint NOT NULL, day int NOT NULL, time bigint NOT NULL, keys bytea NOT NULL,
            log bytea NOT NULL, sent bytea NOT NULL, PRIMARY KEY (part, number, day)) PARTITION BY RANGE (day)
        """,
        """
        CREATE TABLE carillon.bodies (
            part int NOT NULL, number bigint NOT NULL, hour int NOT NULL, time bigint NOT NULL, heads bytea NOT NULL,
            bodies bytea NOT NULL, PRIMARY KEY (part, number, hour)) PARTITION BY RANGE (hour)
        """,
        // The bytes are not worth compressing. Without compression, a part of a value is read without the rest.
        "ALTER TABLE carillon.groups ALTER keys SET STORAGE EXTERNAL, ALTER log SET STORAGE EXTERNAL, "
            + "ALTER sent SET STORAGE EXTERNAL",
        "ALTER TABLE carillon.bodies ALTER heads SET STORAGE EXTERNAL, ALTER bodies SET STORAGE EXTERNAL",
        """
        CREATE TABLE carillon.later (
            part int NOT NULL, seq bigint NOT NULL, due bigint NOT NULL, time bigint NOT NULL,
            fingerprint bigint NOT NULL, content bigint NOT NULL, audience bigint NOT NULL, app text NOT NULL,
            body bytea NOT NULL, PRIMARY KEY (part, seq))
        """,
        """
        CREATE TABLE carillon.cancels (
            part int NOT NULL, number bigint NOT NULL, time bigint NOT NULL, fingerprint bigint NOT NULL,
            app text NOT NULL, id text NOT NULL, client text NOT NULL, sent bigint, cancelled bigint,
            parts bytea NOT NULL, PRIMARY KEY (part, number))
        """,
        """
        CREATE TABLE carillon.receipts (
            app text NOT NULL, id text NOT NULL, part int NOT NULL, time bigint NOT NULL, PRIMARY KEY (app, id))
        """,
        "CREATE INDEX receipts_by_time ON carillon.receipts (time)",
    ]

    /// The statements that bring tables of each version to the next.
    static let migrations: [Int32: [String]] = [
        1: SharedStatements.tables + [
            """
            INSERT INTO carillon.app_marks (app, kind, since) SELECT app, 'paused', since FROM carillon.paused
            """,
            "DROP TABLE carillon.paused",
        ],
        2: [
            "ALTER TABLE carillon.store ADD COLUMN part_rule int NOT NULL DEFAULT \(PartitionMap.Rule.appAndID.rawValue)",
            "ALTER TABLE carillon.store ALTER COLUMN part_rule DROP DEFAULT",
        ] + RegistryTables.thirdVersion,
    ]

    static let addStore = PostgreSQLStatement.once(
        sql: "INSERT INTO carillon.store (version, parts, part_rule, secret, incarnation) VALUES ($1, $2, $3, $4, $5)",
        parameters: [.int4, .int4, .int4, .bytea, .bytea])
    static let addLeases = PostgreSQLStatement.once(
        sql: "INSERT INTO carillon.leases (part, epoch) SELECT part, 0 FROM generate_series(0, $1 - 1) AS part",
        parameters: [.int4])

    static let addHorizons = PostgreSQLStatement.once(
        sql: "INSERT INTO carillon.horizons (part, day, hour) SELECT part, 0, 0 FROM carillon.leases")

    /// Returns the statements that create the partition of `groups` for a day.
    static func groupsPartition(_ day: Int32) -> [String] {
        partition("groups_\(day)", of: "groups", from: day)
    }

    /// Returns the statements that create the partition of `bodies` for an hour.
    static func bodiesPartition(_ hour: Int32) -> [String] {
        partition("bodies_\(hour)", of: "bodies", from: hour)
    }

    /// A table that is created and then attached does not stop the writers of the others.
    private static func partition(_ name: String, of parent: String, from number: Int32) -> [String] {
        [
            "CREATE TABLE carillon.\(name) (LIKE carillon.\(parent) INCLUDING ALL)",
            "ALTER TABLE carillon.\(parent) ATTACH PARTITION carillon.\(name) FOR VALUES FROM (\(number)) "
                + "TO (\(number + 1))",
        ]
    }
}
