// Custom SQL for what records and queries cannot express. The table of a type exists after its first use.

extension Snapshot {
    /// Returns the rows of a custom SQL statement.
    ///
    /// In a ``Database/read(_:)`` the statement must not write. A ``Transaction`` also accepts `INSERT … RETURNING` and
    /// similar statements.
    ///
    /// - Parameters:
    ///   - sql: One statement that returns rows.
    ///   - arguments: The values of its parameters.
    /// - Throws: ``ActiveObjectError/Code-swift.struct/badSQL`` if SQLite does not accept the statement, or if the
    ///   number of values differs from the number of parameters.
    public func rows(_ sql: String, arguments: SQLArguments = []) throws -> [Row] {
        try withRows(of: sql, arguments: arguments) { statement in
            // The first step may prepare the statement again if the table's columns have changed.
            var hasRow = try statement.step()
            let columns = (0..<statement.columnCount).map { statement.columnName(Int32($0)) }
            var rows: [Row] = []
            while hasRow {
                var values: [SQLValue] = []
                values.reserveCapacity(columns.count)
                for (index, column) in columns.enumerated() {
                    do throws(ColumnFault) {
                        values.append(try statement.value(Int32(index)))
                    } catch {
                        throw error.error(table: "row", column: column, wanted: nil, isPrivate: true)
                    }
                }
                rows.append(Row(columns: columns, values: values))
                hasRow = try statement.step()
            }
            return rows
        }
    }

    fileprivate func withRows<Result>(
        of sql: String, arguments: SQLArguments, body: (Statement) throws -> Result
    ) throws -> Result {
        try connection.withStatement(sql) { statement in
            guard statement.columnCount > 0 else {
                throw ActiveObjectError(.badSQL, message: "\"\(sql.shownSQL)\" returns no rows; use `run` in a write")
            }
            guard self is Transaction || statement.isReadOnly else {
                throw ActiveObjectError(
                    .readOnly, message: "\"\(sql.shownSQL)\" writes, but this is a read; use `write`")
            }
            try statement.bind(arguments)
            return try body(statement)
        }
    }

    fileprivate func records<Record: ActiveRecord>(
        of type: Record.Type, sql: String, arguments: SQLArguments
    ) throws -> [Record] {
        let table = try table(of: type)
        return try withRows(of: sql, arguments: arguments) { statement in
            var hasRow = try statement.step()
            let columns = try table.columnIndexes(in: statement)
            if hasRow, columns == Array(0..<Int32(columns.count)) {
                return try table.records(from: statement, isAtRow: true)
            }
            var records: [Record] = []
            while hasRow {
                records.append(try table.record(from: statement, columns: columns))
                hasRow = try statement.step()
            }
            return records
        }
    }
}

extension Transaction {
    /// Runs a custom SQL statement.
    ///
    /// The statement must not begin or end transactions or savepoints; ``Database/write(_:)`` and ``savepoint(_:)`` do
    /// that.
    ///
    /// - Parameters:
    ///   - sql: One statement.
    ///   - arguments: The values of its parameters.
    /// - Returns: The number of changed rows, without those that triggers and references changed.
    @discardableResult
    public func run(_ sql: String, arguments: SQLArguments = []) throws -> Int {
        try connection.withStatement(sql) { statement in
            let verb = sql.firstWord
            guard !["begin", "commit", "end", "rollback", "savepoint", "release"].contains(verb) else {
                throw ActiveObjectError(
                    .badSQL,
                    message:
                        "\"\(sql.shownSQL)\" would end or nest the current transaction; use `write` and `savepoint`")
            }
            try statement.bind(arguments)
            // If this statement is not one that changes rows, SQLite's number is still that of the previous one.
            let before = connection.totalChanges
            try statement.run()
            if ["create", "drop", "alter"].contains(verb) { forgetTables() }
            return connection.totalChanges == before ? 0 : connection.changes
        }
    }
}

extension Database {
    /// Returns the rows of a custom SQL statement that only reads; see ``Snapshot/rows(_:arguments:)``.
    ///
    /// - Parameters:
    ///   - sql: One statement that returns rows.
    ///   - arguments: The values of its parameters.
    public func rows(_ sql: String, arguments: SQLArguments = []) async throws -> [Row] {
        try await readOnce { try $0.rows(sql, arguments: arguments) }
    }

    /// Runs a custom SQL statement in a transaction of its own; see ``Transaction/run(_:arguments:)``.
    ///
    /// - Parameters:
    ///   - sql: One statement.
    ///   - arguments: The values of its parameters.
    /// - Returns: The number of changed rows.
    @discardableResult
    public func run(_ sql: String, arguments: SQLArguments = []) async throws -> Int {
        try await write { try $0.run(sql, arguments: arguments) }
    }
}

extension ActiveRecord {
    /// Returns the records that a custom SQL statement selects. Columns are matched by name, in any order; additional
    /// columns are ignored.
    ///
    /// ```swift
    /// let sql = "SELECT persons.* FROM persons JOIN teams ON … WHERE teams.name = ?"
    /// let reds = try Person.find(sql: sql, arguments: ["Red"], in: snapshot)
    ///
    /// - Parameters:
    ///   - sql: One statement that returns all columns of the type.
    ///   - arguments: The values of its parameters.
    ///   - snapshot: The state of the database to read.
    /// ```
    public static func find(sql: String, arguments: SQLArguments = [], in snapshot: Snapshot) throws -> [Self] {
        try snapshot.records(of: Self.self, sql: sql, arguments: arguments)
    }

    /// Returns the records that a custom SQL statement selects from a database, by default the one that the type names.
    public static func find(
        sql: String, arguments: SQLArguments = [], in database: Database? = nil
    ) async throws -> [Self] {
        try await (database ?? self.database()).readOnce { try find(sql: sql, arguments: arguments, in: $0) }
    }
}

extension Table {
    /// Returns the index of each column of the table in the result of a statement.
    fileprivate func columnIndexes(in statement: Statement) throws(ActiveObjectError) -> [Int32] {
        var indexes: [[UInt8]: Int32] = [:]
        let names = (0..<statement.columnCount).map { statement.columnName(Int32($0)) }
        for (index, name) in names.enumerated().reversed() { indexes[name.nameKey] = Int32(index) }
        var columns: [Int32] = []
        for field in fields {
            guard let index = indexes[field.column.nameKey] else {
                throw ActiveObjectError(
                    .badSQL,
                    message: """
                        the statement returns no column \(field.column), which \(Record.self) needs; it returns \
                        \(names.joined(separator: ", "))
                        """, table: name, column: field.column)
            }
            columns.append(index)
        }
        return columns
    }

    fileprivate func record(from statement: Statement, columns: [Int32]) throws(ActiveObjectError) -> Record {
        let memory = UnsafeMutablePointer<Record>.allocate(capacity: 1)
        defer { unsafe memory.deallocate() }
        do throws(RowLayout.Fault) {
            try unsafe layout.read(from: statement, columns: columns, into: UnsafeMutableRawPointer(memory))
        } catch {
            throw self.error(error.fault, in: fields[error.column])
        }
        return unsafe memory.move()
    }
}

extension String {
    /// The first word of the statement in lower case.
    fileprivate var firstWord: String { afterComments.prefix { $0.isASCII && $0.isLetter }.lowercased() }

    /// The text from the first character that is neither whitespace nor in a comment.
    private var afterComments: Substring {
        var rest = self[...]
        while true {
            rest = rest.drop { $0.isWhitespace || $0 == ";" }
            if rest.hasPrefix("--") {
                rest = rest.drop { !$0.isNewline }
            } else if rest.hasPrefix("/*") {
                rest = rest.firstRange(of: "*/").map { rest[$0.upperBound...] } ?? ""
            } else {
                return rest
            }
        }
    }
}
