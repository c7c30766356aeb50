extension Query {
    /// Removes the rows with a single statement.
    ///
    /// The hooks ``ActiveRecord/willRemove(in:)`` and ``ActiveRecord/didRemove(in:)`` are not called. The rules of
    /// references are applied.
    ///
    /// - Returns: The number of removed rows.
    @discardableResult
    public func remove(in transaction: Transaction) throws -> Int {
        let table = try transaction.table(of: Record.self)
        var text = SQLText("DELETE FROM \(table.name.quotedName)")
        try append(rowsIn: table, to: &text)
        do {
            return try transaction.withStatement(text, of: table.name) { statement in
                try statement.run()
                return transaction.connection.changes
            }
        } catch {
            throw transaction.connection.explained(error, removing: nil, from: table.name)
        }
    }

    /// Removes the rows with a single statement, in a transaction of its own in a database, by default the one that the
    /// type names.
    ///
    /// - Returns: The number of removed rows.
    @discardableResult
    public func remove(in database: Database? = nil) async throws -> Int {
        try await (database ?? Record.database()).write { try remove(in: $0) }
    }

    /// Changes columns of the rows with a single statement.
    ///
    /// ```swift
    /// try await Person.where(\.rank < 3).update(.set(\.active, to: false), .increment(\.votes))
    /// ```
    ///
    /// Rules are not checked, and the hooks ``ActiveRecord/willSave(in:)`` and ``ActiveRecord/didSave(in:)`` are not
    /// called. Constraints of the table are checked; if one row violates them, no row is changed. A version column is
    /// increased and the timestamp of the last save is set, as by any other change.
    ///
    /// - Parameters:
    ///   - changes: The assignments; at most one for each column.
    ///   - transaction: The transaction.
    /// - Returns: The number of changed rows.
    /// - Throws: ``ActiveObjectError/Code-swift.struct/badSQL`` if a column is assigned twice.
    @discardableResult
    public func update(_ changes: Assignment<Record>..., in transaction: Transaction) throws -> Int {
        try update(changes, in: transaction)
    }

    /// Changes columns of the rows in a transaction of its own in a database, by default the one that the type names.
    ///
    /// - Returns: The number of changed rows.
    @discardableResult
    public func update(_ changes: Assignment<Record>..., in database: Database? = nil) async throws -> Int {
        try await (database ?? Record.database()).write { try update(changes, in: $0) }
    }

    /// Changes columns of the rows in a transaction of its own in a database, by default the one that the type names.
    ///
    /// - Returns: The number of changed rows.
    @discardableResult
    public func update(_ changes: [Assignment<Record>], in database: Database? = nil) async throws -> Int {
        try await (database ?? Record.database()).write { try update(changes, in: $0) }
    }

    /// Changes columns of the rows with a single statement.
    ///
    /// - Returns: The number of changed rows.
    @discardableResult
    public func update(_ changes: [Assignment<Record>], in transaction: Transaction) throws -> Int {
        guard !changes.isEmpty else { return 0 }
        let table = try transaction.table(of: Record.self)
        let all = changes + (try Assignment.implied(beside: changes, in: table, now: transaction.now))
        var text = SQLText("UPDATE \(table.name.quotedName) SET ")
        for (index, change) in all.enumerated() {
            if index > 0 { text.append(", ") }
            try text.append(change, in: table)
        }
        try append(rowsIn: table, to: &text)
        do {
            return try transaction.withStatement(text, of: table.name) { statement in
                try statement.run()
                return transaction.connection.changes
            }
        } catch let error as ActiveObjectError where error.cause == .integerOverflow {
            let increments = all.filter(\.canOverflow)
            guard let first = increments.first else { throw error }
            let column = try increments.count == 1 ? first.column.field(in: table).column : nil
            throw ActiveObjectError(
                .outOfRange,
                message: """
                    an increment would exceed the range of \(table.name)\(column.map { ".\($0)" } ?? ""); nothing was \
                    changed
                    """, table: table.name, column: column, resultCode: error.resultCode)
        }
    }
}
