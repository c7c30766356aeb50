/// A description of how the target rows of a relation are read: by which keys, with which criteria, and in what order.
struct RelatedRows<Target: ActiveRecord>: @unchecked Sendable {
    // Unchecked: key paths to stored properties capture no values, but are not marked Sendable.

    /// The keys of the rows to read, as the first parameter of a statement. Its SQL does not depend on their number.
    enum Keys {
        case one(Int64)
        case many([Int64])

        /// The condition after the name of a column.
        var condition: String {
            switch self {
            case .one: "= ?1"
            case .many: "IN (SELECT value FROM json_each(?1))"
            }
        }

        func bind(to statement: Statement, at index: Int32 = 1) throws {
            do throws(ColumnFault) {
                switch self {
                case .one(let id): try statement.bind(id, at: index)
                case .many(let ids):
                    try statement.bind("[\(ids.map(String.init).joined(separator: ","))]", at: index)
                }
            } catch {
                throw ActiveObjectError(
                    .outOfRange,
                    message:
                        "\(Target.tableName): more keys than SQLite can process in one statement; load fewer at once")
            }
        }
    }

    private var order: [(keyPath: PartialKeyPath<Target>, isDescending: Bool)] = []
    /// The condition for the target records.
    private(set) var criteria = Criteria<Target>.all

    func order(by keyPath: PartialKeyPath<Target>, descending: Bool) -> RelatedRows {
        var rows = self
        rows.order.append((keyPath, descending))
        return rows
    }

    /// Returns this description with a further condition.
    func filtered(_ criteria: Criteria<Target>) -> RelatedRows {
        var rows = self
        rows.criteria = rows.criteria && criteria
        return rows
    }

    /// Returns `WHERE` and `ORDER BY`. `keys` is the condition with the first parameter, if it belongs here. The values
    /// of the criteria are the last parameters.
    func clauses(
        keys: String?, of table: Table<Target>, in snapshot: Snapshot
    ) throws -> (sql: String, values: [SQLValue]) {
        var filter = SQLText()
        if case .constant(true) = criteria.node {
        } else {
            filter.append("(")
            try filter.append(criteria, in: table)
            filter.append(")")
            try filter.prepareTables(in: snapshot)
        }
        let conditions = [keys, filter.sql.isEmpty ? nil : filter.sql].compactMap(\.self)
        let terms = try order.map { try table.field($0.keyPath).column.quotedName + ($0.isDescending ? " DESC" : "") }
        let sql =
            (conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND "))
            + " ORDER BY " + (terms + [table.fields[0].column.quotedName]).joined(separator: ", ")
        return (sql, filter.parameters.map(\.value))
    }

    /// Binds the values after the keys, which are the first parameter.
    func bind(_ values: [SQLValue], to statement: Statement) throws {
        for (index, value) in values.enumerated() {
            do throws(ColumnFault) {
                try statement.bind(value, at: Int32(index) + 2)
            } catch {
                throw error.error(
                    table: Target.tableName, column: "a condition", wanted: value.valueClass, isPrivate: true)
            }
        }
    }

    /// Returns the target rows whose `column` is one of the keys.
    func load(_ keys: Keys, of column: String, in snapshot: Snapshot, limit: Int? = nil) throws
        -> [Target]
    {
        let table = try snapshot.table(of: Target.self)
        let clauses = try clauses(keys: "\(column) \(keys.condition)", of: table, in: snapshot)
        let sql =
            "SELECT \(table.columnList) FROM \(table.name.quotedName)" + clauses.sql
            + (limit.map { " LIMIT \($0)" } ?? "")
        return try snapshot.connection.withStatement(sql) { statement in
            try keys.bind(to: statement)
            try bind(clauses.values, to: statement)
            return try table.records(from: statement)
        }
    }
}
