extension Query {
    /// Removes the rows by one statement and returns their number.
    ///
    /// It works on the set: no `willRemove` or `didRemove` is called. What references say about removing holds.
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

    @discardableResult
    public func remove(in database: Database? = nil) async throws -> Int {
        try await (database ?? Record.database()).write { try remove(in: $0) }
    }

    /// Changes columns of the rows by one statement and returns the number of rows.
    ///
    /// ```swift
    /// try await Person.where(\.rank < 3).update(.set(\.active, to: false), .increment(\.votes))
    /// ```
    ///
    /// It works on the set: no rule is looked at and no `willSave` or `didSave` called; constraints of the table hold,
    /// and if one row breaks them, none is changed. A version column counts, and the date of the last save is set,
    /// as for any other change. Throws `badSQL` if a column is changed twice.
    @discardableResult
    public func update(_ changes: Assignment<Record>..., in transaction: Transaction) throws -> Int {
        try update(changes, in: transaction)
    }

    @discardableResult
    public func update(_ changes: Assignment<Record>..., in database: Database? = nil) async throws -> Int {
        try await (database ?? Record.database()).write { try update(changes, in: $0) }
    }

    @discardableResult
    public func update(_ changes: [Assignment<Record>], in database: Database? = nil) async throws -> Int {
        try await (database ?? Record.database()).write { try update(changes, in: $0) }
    }

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
        } catch let error as ActiveObjectError where error.message.contains("integer overflow") {
            let increments = all.filter(\.canOverflow)
            guard let first = increments.first else { throw error }
            let column = try increments.count == 1 ? first.column.field(in: table).column : nil
            throw ActiveObjectError(
                .outOfRange,
                """
                an increment would take \(table.name)\(column.map { ".\($0)" } ?? "") to a number that does not fit; \
                nothing was changed
                """, table: table.name, column: column, resultCode: error.resultCode)
        }
    }
}
