import PushPostgreSQL
package import PushTime

/// The row of a store that describes it.
package struct StoreFacts: Sendable, Equatable {
    /// The version of the tables.
    package let version: Int32
    /// The number of partitions, which never changes.
    package let partitions: Int
    /// The random number that ``StoreSetup/declareRestored(_:)`` replaces.
    package let incarnation: [UInt8]
    package let created: WallTime

    static let statement = PostgreSQLStatement.once(
        sql: "SELECT version, parts, incarnation, created FROM carillon.store")

    init(_ row: PostgreSQLRow) throws(PostgreSQLValueError) {
        version = try row.value(0)
        partitions = Int(try row.value(1, as: Int32.self))
        incarnation = try row.value(2)
        created = try row.value(3, as: PostgreSQLTimestamp.self).wallTime
    }

    /// The version of the tables that this program reads and writes.
    package static let currentVersion = StoreSchema.version

    /// Why this program cannot use the store; nil if it can.
    package var versionFault: String? { StoreSchema.fault(of: version) }
}

/// What a database contains where a store is expected.
struct StorePresence {
    let hasSchema: Bool
    let hasStore: Bool
    let encoding: String
    let user: String
    let database: String

    static let statement = PostgreSQLStatement.once(
        sql: """
            SELECT to_regnamespace('carillon') IS NOT NULL, EXISTS (SELECT FROM pg_class
                WHERE relnamespace = to_regnamespace('carillon') AND relname = 'store' AND relkind = 'r'),
                current_setting('server_encoding'), current_user::text, current_database()::text
            """)

    init(_ row: PostgreSQLRow) throws(PostgreSQLValueError) {
        hasSchema = try row.value(0)
        hasStore = try row.value(1)
        encoding = try row.value(2)
        user = try row.value(3)
        database = try row.value(4)
    }

    /// Names of nodes, apps and messages are stored as text.
    var encodingFault: String? {
        if encoding == "UTF8" { return nil }
        return "the database \(database) has the encoding \(encoding), which cannot store all names; create one with "
            + "CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0"
    }
}
