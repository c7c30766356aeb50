import Synchronization

/// A statement of SQL with the types of its parameters. Create one for each text, once, and keep it.
package struct PostgreSQLStatement: Sendable {
    /// The number in this process, by which a connection knows whether it has prepared the statement.
    let id: Int
    /// The name at the server, which `pg_prepared_statements` shows.
    package let name: String
    package let sql: String
    package let parameterTypes: [PostgreSQLType]
    /// Whether each connection prepares the statement at its first use. Otherwise the server parses it at each use.
    package let isPrepared: Bool

    private static let newest = Atomic<Int>(0)

    /// Creates a statement that each connection prepares at its first use.
    package init(_ name: String, sql: String, parameters: [PostgreSQLType] = []) {
        self.init(name, sql: sql, parameters: parameters, isPrepared: true)
    }

    /// Creates a statement that is not worth preparing, such as one that changes the schema.
    package static func once(sql: String, parameters: [PostgreSQLType] = []) -> PostgreSQLStatement {
        PostgreSQLStatement("once", sql: sql, parameters: parameters, isPrepared: false)
    }

    private init(_ name: String, sql: String, parameters: [PostgreSQLType], isPrepared: Bool) {
        id = Self.newest.add(1, ordering: .relaxed).newValue
        self.name = isPrepared ? "\(name)-\(id)" : name
        self.sql = sql
        parameterTypes = parameters
        self.isPrepared = isPrepared
    }
}
