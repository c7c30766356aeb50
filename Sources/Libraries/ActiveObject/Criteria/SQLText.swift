/// A statement under construction: its SQL, and the values bound to its parameters, in order.
///
/// Values are never part of the SQL, so the same query has the same SQL each time and is prepared once.
struct SQLText {
    struct Parameter {
        let value: SQLValue
        /// The column that an error about the value names; nil for limits and the like.
        let column: (name: String, isPrivate: Bool)?
    }

    private(set) var sql: String
    private(set) var parameters: [Parameter] = []
    /// Closures that create the tables which the SQL names.
    private(set) var tables: [@Sendable (Snapshot) throws -> Void] = []
    /// The name by which a nested SELECT refers to the current row; nil for the name of its table.
    var row: String?
    /// The number of enclosing SELECTs.
    var nesting = 0

    /// The maximum number of parameters. SQLite's default limit is 32,766.
    static let parameterLimit = 32_766

    init(_ sql: String = "") {
        self.sql = sql
    }

    mutating func append(_ text: String) {
        sql += text
    }

    mutating func append(_ other: SQLText) {
        sql += other.sql
        parameters += other.parameters
        tables += other.tables
    }

    mutating func need<Record: ActiveRecord>(_ type: Record.Type) {
        tables.append { _ = try $0.table(of: Record.self) }
    }

    func prepareTables(in snapshot: Snapshot) throws {
        for prepare in tables { try prepare(snapshot) }
    }

    /// Appends a parameter and binds a value to it.
    mutating func bind(_ value: SQLValue) {
        sql += "?"
        parameters.append(Parameter(value: value, column: nil))
    }

    mutating func bind<Record>(_ value: SQLValue, for field: Table<Record>.Field) {
        sql += "?"
        parameters.append(Parameter(value: value, column: (field.column, field.isPrivate)))
    }

    func checkCount(of table: String) throws(ActiveObjectError) {
        guard parameters.count <= Self.parameterLimit else {
            throw ActiveObjectError(
                .outOfRange,
                message:
                    "a query of \(table) has more than \(Self.parameterLimit) values; use `isIn`, or split the query",
                table: table)
        }
    }
}

extension Snapshot {
    /// Calls `body` with the statement after binding all its parameters.
    func withStatement<Result>(
        _ text: SQLText, of table: String, body: (Statement) throws -> Result
    ) throws -> Result {
        try text.checkCount(of: table)
        try text.prepareTables(in: self)
        return try connection.withStatement(text.sql) { statement in
            for (index, parameter) in text.parameters.enumerated() {
                do throws(ColumnFault) {
                    try statement.bind(parameter.value, at: Int32(index + 1))
                } catch {
                    throw error.error(
                        table: table, column: parameter.column?.name ?? "limit", wanted: nil,
                        isPrivate: parameter.column?.isPrivate ?? false)
                }
            }
            return try body(statement)
        }
    }
}
