import PushPostgreSQL

/// The tables of the registry of a cluster. Texts from outside are `bytea`: they are compared by their bytes and may
/// contain any character, whatever the encoding and the collation of the database.
///
/// - `devices`: one row for each device. `version` is a random number of the last write, by which a writer recognizes
///   that the row is as it has read it, or that its own earlier attempt has written it.
/// - `device_tags`: each tag of each device once more, to find the devices with a tag in the order of their ids.
/// - `device_changes`: the devices that became active or inactive, for about an hour. All nodes read the new rows once a
///   second. An index of `devices` over the time of the last write would do the same, but then no write of a device
///   could leave its indexes as they are.
/// - `device_marks`: how far the log of each part was applied.
/// - `device_counts`: how many devices there are, as the sum of the slots. Each node writes a slot of its own.
/// - `key_book`: one row with a random number that each change of `api_keys` replaces.
enum RegistryTables {
    static let all = tables + indexesOfThirdVersion

    private static let tables = [
        """
        CREATE TABLE carillon.devices (
            id bytea PRIMARY KEY, app text COLLATE "C" NOT NULL, token bytea NOT NULL, account bytea, locale bytea,
            platform bytea, app_version bytea, registered bigint, seen bigint, deactivated bigint, reason bytea,
            evidence bigint, reactivated bigint, tags bytea[] NOT NULL, version bigint NOT NULL,
            \(columnsOfThirdVersion.joined(separator: ", ")))
            WITH (fillfactor = 80)
        """,
        "CREATE INDEX devices_inactive ON carillon.devices (id) WHERE deactivated IS NOT NULL",
        "CREATE INDEX devices_unregistered ON carillon.devices (deactivated) WHERE registered IS NULL",
        """
        CREATE TABLE carillon.device_tags (
            tag bytea NOT NULL, app text COLLATE "C" NOT NULL, id bytea NOT NULL, PRIMARY KEY (tag, app, id))
        """,
        """
        CREATE TABLE carillon.device_changes (
            xact bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint, id bytea NOT NULL, PRIMARY KEY (xact, id))
        """,
        "CREATE TABLE carillon.device_marks (part int PRIMARY KEY, number bigint NOT NULL)",
        """
        CREATE TABLE carillon.device_counts (
            slot int PRIMARY KEY, registered bigint NOT NULL, unregistered bigint NOT NULL)
        """,
        """
        CREATE TABLE carillon.api_keys (
            id text COLLATE "C" PRIMARY KEY, place bigint GENERATED ALWAYS AS IDENTITY, name text NOT NULL,
            roles int NOT NULL, apps text, addresses text NOT NULL, created bigint NOT NULL, expires bigint,
            bearer int NOT NULL, rate bigint, rotated bigint, revoked bigint, digest bytea NOT NULL,
            sealed bytea NOT NULL)
        """,
        "CREATE TABLE carillon.key_book (one bool PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL)",
        "INSERT INTO carillon.key_book (version) VALUES (0)",
        // The key that encrypts the secrets of API keys; null until the first one is made.
        "ALTER TABLE carillon.store ADD COLUMN sealing bytea",
    ]

    /// `kind` is the number of the kind (``AddressKind``), 0 also if none was stated.
    private static let columnsOfThirdVersion = [
        "kind int NOT NULL DEFAULT 0", "kind_stated bool NOT NULL DEFAULT false", "activity bytea",
        "activity_type bytea", "installation bytea", "time_zone bytea",
    ]

    private static let indexesOfThirdVersion = [
        "CREATE INDEX devices_by_app ON carillon.devices (app, id)",
        // A page of an audience is read from this index alone.
        "CREATE INDEX devices_by_kind ON carillon.devices (app, kind, id) INCLUDE (token, deactivated)",
        "CREATE INDEX devices_by_account ON carillon.devices (account, app, kind, id) WHERE account IS NOT NULL",
        "CREATE INDEX devices_of_other_kinds ON carillon.devices (id) WHERE kind <> 0",
        "CREATE INDEX devices_by_activity ON carillon.devices (activity, app, id) WHERE activity IS NOT NULL",
        "CREATE INDEX devices_by_installation ON carillon.devices (installation, app, id) "
            + "WHERE installation IS NOT NULL",
    ]

    /// The statements that bring the tables of version 2 of a store to version 3.
    static let thirdVersion =
        columnsOfThirdVersion.map { "ALTER TABLE carillon.devices ADD COLUMN \($0)" }
        + ["DROP INDEX carillon.devices_by_app", "DROP INDEX carillon.devices_by_account"] + indexesOfThirdVersion
}
