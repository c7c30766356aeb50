/// A query for the records with given values in some columns. Its SQL is written once, and each use only binds values:
/// for many small look-ups, each of which a ``Query`` would describe anew.
///
/// ```swift
/// let inTeam = try KeyedQuery<Person>(\.team, where: \.rank > 3)
/// let teams = try await database.read { snapshot in
///     try inTeam.all(for: [[.text("red")], [.text("blue")]], limit: 10, in: snapshot)
/// }
/// ```
public struct KeyedQuery<Record: ActiveRecord>: Sendable {
    private let text: SQLText
    private let keyCount: Int

    /// The statement.
    var sql: String { text.sql }

    /// Creates a query.
    ///
    /// - Parameters:
    ///   - columns: The columns of a key, at least one. An index on them makes each look-up short.
    ///   - criteria: A condition that all records satisfy.
    ///   - orders: The order of the records of a key. Those that are equal there are in the order of their own keys, in
    ///     the direction of the last of these orders.
    /// - Throws: ``ActiveObjectError`` if a column does not exist or the criterion is invalid.
    public init(
        _ columns: PartialKeyPath<Record>..., where criteria: Criteria<Record> = .all,
        order orders: [Order<Record>] = []
    ) throws {
        let table = try Tables.table(of: Record.self)
        var text = SQLText("SELECT \(table.columnList) FROM \(table.name.quotedName) WHERE ")
        for column in columns {
            let field = try table.field(column)
            text.append("\(field.column.quotedName) \(field.codec.isOptional ? "IS" : "=") ")
            text.bind(.null, for: field)
            text.append(" AND ")
        }
        try text.append(criteria, in: table)
        text.append(orderedBy: try Query<Record>().order(orders).orders(in: table)[...], choosesIndex: true)
        text.append(" LIMIT ")
        text.bind(.null)
        try text.checkCount(of: table.name)
        self.text = text
        keyCount = columns.count
    }

    /// Returns the records of each key, in the order of the query.
    ///
    /// - Parameters:
    ///   - keys: The keys, each with the values of the columns in their order, as the columns store them.
    ///   - limit: The maximum number of records of each key; at least 1.
    ///   - snapshot: The state of the database to read.
    public func all(for keys: [[SQLValue]], limit: Int, in snapshot: Snapshot) throws -> [[Record]] {
        let table = try snapshot.table(of: Record.self)
        try text.prepareTables(in: snapshot)
        guard limit > 0, keys.allSatisfy({ $0.count == keyCount }) else {
            throw ActiveObjectError(
                .outOfRange,
                message: "a keyed query of \(table.name) needs \(keyCount) values for each key, and a limit above 0",
                table: table.name)
        }
        return try snapshot.connection.withStatement(text.sql) { statement in
            try keys.map { key in
                statement.rewind()
                try bind(key, limit, to: statement, of: table.name)
                var records: [Record] = []
                while try statement.step() { records.append(try table.record(from: statement)) }
                return records
            }
        }
    }

    private func bind(_ key: [SQLValue], _ limit: Int, to statement: Statement, of table: String) throws {
        for (index, parameter) in text.parameters.enumerated() {
            let isLast = index == text.parameters.count - 1
            let value = index < keyCount ? key[index] : isLast ? .integer(Int64(limit)) : parameter.value
            do throws(ColumnFault) {
                try statement.bind(value, at: Int32(index + 1))
            } catch {
                throw error.error(
                    table: table, column: parameter.column?.name ?? "limit", wanted: nil,
                    isPrivate: parameter.column?.isPrivate ?? false)
            }
        }
    }
}
