/// A statement as it grows: its text, and what is bound to the marks in it, in their order.
///
/// No value is ever part of the text, so that the same query has the same text each time and is prepared once.
struct SQLText {
    struct Parameter {
        let value: SQLValue
        /// Whom to blame if it cannot be bound; nil for limits and the like.
        let column: (name: String, isPrivate: Bool)?
    }

    private(set) var sql: String
    private(set) var parameters: [Parameter] = []
    /// Makes sure that the tables are there which are named inside.
    private(set) var tables: [@Sendable (Snapshot) throws -> Void] = []
    /// By which name a SELECT inside of the one at hand can ask for the row; nil: by its table's.
    var row: String?
    /// How many SELECTs stand around.
    var nesting = 0

    /// SQLite's own limit is 32,766 unless it was built with another.
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

    /// A mark, and what is bound to it.
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
                "a query of \(table) has more than \(Self.parameterLimit) values: ask with isIn, or in parts",
                table: table)
        }
    }
}

extension Snapshot {
    /// Lends the statement with everything bound.
    func withStatement<Result>(
        _ text: SQLText, of table: String, _ body: (Statement) throws -> Result
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
