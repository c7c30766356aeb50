// SQL of one's own, for what records and queries do not say. Tables of types are there once the types were used.

extension Snapshot {
    /// The rows that a statement gives. In a `read` it may not write, in memory or on disk; a `Transaction` also takes
    /// `INSERT … RETURNING` and its like.
    ///
    /// Throws `badSQL` if SQLite does not understand it, or if the number of values is not that of the parameters.
    public func rows(_ sql: String, _ arguments: SQLArguments = []) throws -> [Row] {
        try withRows(sql, arguments) { statement in
            // The first step may prepare it anew, for a table that has other columns now.
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
        _ sql: String, _ arguments: SQLArguments, _ body: (Statement) throws -> Result
    ) throws -> Result {
        try connection.withStatement(sql) { statement in
            guard statement.columnCount > 0 else {
                throw ActiveObjectError(.badSQL, "\"\(sql.shownSQL)\" gives no rows: run it in a write")
            }
            guard self is Transaction || statement.isReadOnly else {
                throw ActiveObjectError(.readOnly, "\"\(sql.shownSQL)\" writes, and this is a read: use write")
            }
            try statement.bind(arguments)
            return try body(statement)
        }
    }

    fileprivate func records<Record: ActiveRecord>(
        _ type: Record.Type, _ sql: String, _ arguments: SQLArguments
    ) throws -> [Record] {
        let table = try table(of: type)
        return try withRows(sql, arguments) { statement in
            var hasRow = try statement.step()
            let columns = try table.places(in: statement)
            if hasRow, columns == Array(0..<Int32(columns.count)) { return try table.records(statement, isAtRow: true) }
            var records: [Record] = []
            while hasRow {
                records.append(try table.record(statement, columns: columns))
                hasRow = try statement.step()
            }
            return records
        }
    }
}

extension Transaction {
    /// Runs a statement and returns how many rows it changed, without those that triggers and references did.
    ///
    /// Transactions and savepoints are not to be handled here: `write` and `savepoint` do that.
    @discardableResult
    public func run(_ sql: String, _ arguments: SQLArguments = []) throws -> Int {
        try connection.withStatement(sql) { statement in
            let verb = sql.firstWord
            guard !["begin", "commit", "end", "rollback", "savepoint", "release"].contains(verb) else {
                throw ActiveObjectError(
                    .badSQL,
                    "\"\(sql.shownSQL)\" would end or nest the transaction that it runs in: use write and savepoint")
            }
            try statement.bind(arguments)
            // SQLite's number stays that of the statement before if this one is none that changes rows.
            let before = connection.totalChanges
            try statement.run()
            if ["create", "drop", "alter"].contains(verb) { forgetTables() }
            return connection.totalChanges == before ? 0 : connection.changes
        }
    }
}

extension Database {
    /// The rows that a statement gives, which may not write: see `Snapshot.rows`.
    public func rows(_ sql: String, _ arguments: SQLArguments = []) async throws -> [Row] {
        try await readOnce { try $0.rows(sql, arguments) }
    }

    /// Runs a statement in a transaction of its own: see `Transaction.run`.
    @discardableResult
    public func run(_ sql: String, _ arguments: SQLArguments = []) async throws -> Int {
        try await write { try $0.run(sql, arguments) }
    }
}

extension ActiveRecord {
    /// The records that a statement gives, whose columns are found by name and in any order; there may be more of them.
    ///
    /// ```swift
    /// try Person.find(sql: "SELECT persons.* FROM persons JOIN teams ON … WHERE teams.name = ?", ["Red"], in: snapshot)
    /// ```
    public static func find(sql: String, _ arguments: SQLArguments = [], in snapshot: Snapshot) throws -> [Self] {
        try snapshot.records(Self.self, sql, arguments)
    }

    public static func find(
        sql: String, _ arguments: SQLArguments = [], in database: Database? = nil
    ) async throws -> [Self] {
        try await (database ?? self.database()).readOnce { try find(sql: sql, arguments, in: $0) }
    }
}

extension Table {
    /// Where each column of the table stands in what a statement gives.
    fileprivate func places(in statement: Statement) throws(ActiveObjectError) -> [Int32] {
        var places: [[UInt8]: Int32] = [:]
        let names = (0..<statement.columnCount).map { statement.columnName(Int32($0)) }
        for (index, name) in names.enumerated().reversed() { places[name.nameKey] = Int32(index) }
        var columns: [Int32] = []
        for field in fields {
            guard let place = places[field.column.nameKey] else {
                throw ActiveObjectError(
                    .badSQL,
                    """
                    the statement gives no column \(field.column), which \(Record.self) needs; it gives \
                    \(names.joined(separator: ", "))
                    """, table: name, column: field.column)
            }
            columns.append(place)
        }
        return columns
    }

    fileprivate func record(_ statement: Statement, columns: [Int32]) throws(ActiveObjectError) -> Record {
        let memory = UnsafeMutablePointer<Record>.allocate(capacity: 1)
        defer { unsafe memory.deallocate() }
        do throws(RowLayout.Fault) {
            try unsafe layout.read(statement, columns: columns, into: UnsafeMutableRawPointer(memory))
        } catch {
            throw self.error(error.fault, in: fields[error.column])
        }
        return unsafe memory.move()
    }
}

extension String {
    /// What kind of statement it is, in lower case.
    fileprivate var firstWord: String { afterComments.prefix { $0.isASCII && $0.isLetter }.lowercased() }

    /// From the first character that is no space and not in a comment.
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
