import PushPostgreSQL

/// The statements of the API keys, prepared by each connection at their first use.
enum KeyStatements {
    static let keys = PostgreSQLStatement(
        "read-keys",
        sql: """
            SELECT id, name, roles, apps, addresses, created, expires, bearer, rate, rotated, revoked, digest, sealed
            FROM carillon.api_keys ORDER BY place
            """)

    static let version = PostgreSQLStatement("key-version", sql: "SELECT version FROM carillon.key_book")

    /// Begins a change of the keys, if they are as the node has read them, or as an earlier attempt has left them.
    /// Returns a row if they are. The statements that follow do nothing otherwise.
    static let begin = PostgreSQLStatement(
        "change-keys",
        sql: "UPDATE carillon.key_book SET version = $2 WHERE version IN ($1, $2) RETURNING version",
        parameters: [.int8, .int8])

    static let remove = PostgreSQLStatement(
        "remove-keys",
        sql: """
            DELETE FROM carillon.api_keys USING carillon.key_book WHERE id = ANY($1) AND version = $2
            """,
        parameters: [.textArray, .int8])

    static let store = PostgreSQLStatement(
        "store-key",
        sql: """
            INSERT INTO carillon.api_keys (id, name, roles, apps, addresses, created, expires, bearer, rate, rotated,
                revoked, digest, sealed)
            SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 FROM carillon.key_book WHERE version = $14
            ON CONFLICT (id) DO UPDATE SET rotated = excluded.rotated, revoked = excluded.revoked
            """,
        parameters: [
            .text, .text, .int4, .text, .text, .int8, .int8, .int4, .int8, .int8, .int8, .bytea, .bytea, .int8,
        ])

    static let sealing = PostgreSQLStatement("read-sealing-key", sql: "SELECT sealing FROM carillon.store")

    /// Stores the sealing key if there is none, and returns the one that is stored. The row is written in any case, so
    /// that a key which another attempt has stored is durable, too.
    static let keepSealing = PostgreSQLStatement(
        "keep-sealing-key",
        sql: "UPDATE carillon.store SET sealing = coalesce(sealing, $1) RETURNING sealing", parameters: [.bytea])
}
