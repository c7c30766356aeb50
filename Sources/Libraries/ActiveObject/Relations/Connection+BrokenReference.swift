extension Connection {
    /// Returns a broken reference with the names of both tables, which SQLite does not report; returns any other error
    /// unchanged.
    ///
    /// Call it after a statement on `table` has failed and was undone. It searches for the rows that refer, which costs
    /// queries, but only after an error.
    ///
    /// - Parameter id: The row that was to be removed; nil if it is unknown.
    func explained(_ error: any Error, removing id: Int64?, from table: String) -> any Error {
        guard let known = error as? ActiveObjectError, known.code == .brokenReference,
            let reference = try? blockingReference(of: id, in: table)
        else { return error }
        let rows = id.map { "row \($0)" } ?? "rows"
        let refers =
            if id == nil {
                "may still refer to them"
            } else if reference.parent.lowercased() == table.lowercased() {
                "still refers to it"
            } else {
                "still refers to a row of \(reference.parent) that would be removed with it"
            }
        return ActiveObjectError(
            .brokenReference,
            message: """
                cannot remove \(rows) of \(table): \(reference.table).\(reference.column) \(refers); remove or change \
                the referring rows, or declare another `onRemove`
                """, table: reference.table, column: reference.column, resultCode: known.resultCode)
    }

    /// Returns the error for a record that could not be saved, with the reference that names a missing row.
    func explained<Record: ActiveRecord>(_ error: any Error, saving record: Record) -> any Error {
        guard let known = error as? ActiveObjectError, known.code == .brokenReference,
            let table = try? Tables.table(of: Record.self)
        else { return error }
        for reference in Record.references {
            guard let id = record[keyPath: reference.keyPath] as? Int64,
                let field = try? table.field(reference.keyPath),
                let target = try? Tables.key(of: reference.target)
            else { continue }
            let sql = "SELECT 1 FROM \(target.table.quotedName) WHERE \(target.column.quotedName) = ?1"
            let exists = try? withStatement(sql) { statement in
                try statement.bind(id, at: 1)
                return try statement.step()
            }
            guard exists == false else { continue }
            let value = field.isPrivate ? "a row" : "row \(id)"
            return ActiveObjectError(
                .brokenReference,
                message: """
                    cannot save to \(table.name): \(field.column) refers to \(value) of \(target.table), which does \
                    not exist; save that row first
                    """, table: table.name, column: field.column, resultCode: known.resultCode)
        }
        return error
    }

    /// Returns the error for one record of an array.
    func explained<Record: ActiveRecord>(
        _ error: ActiveObjectError, saving record: Record, at index: Int
    ) -> ActiveObjectError {
        guard error.code == .brokenReference,
            let explained = explained(error, saving: record) as? ActiveObjectError, explained.index == nil
        else { return error }
        return explained.at(index)
    }

    private struct ForeignKeyColumn {
        let table: String
        let column: String
        let parent: String
        let parentColumn: String
        let rule: String
    }

    /// Returns the first reference whose rows prevent the removal of the row, or of rows that a cascade would remove.
    private func blockingReference(of id: Int64?, in table: String) throws -> ForeignKeyColumn? {
        let references = try foreignKeys()
        var seen: Set<String> = []
        /// Searches for references to `parent`. `rows` is a query for the rowids of `parent` that would be removed.
        func search(_ parent: String, rows: String) throws -> ForeignKeyColumn? {
            guard seen.insert(parent.lowercased()).inserted else { return nil }
            let ofParent = references.filter { $0.parent.lowercased() == parent.lowercased() }
            func condition(_ reference: ForeignKeyColumn) -> String {
                """
                \(reference.column.quotedName) IN (SELECT \(reference.parentColumn.quotedName) \
                FROM \(parent.quotedName) WHERE rowid IN (\(rows)))
                """
            }
            for reference in ofParent where reference.rule == "RESTRICT" || reference.rule == "NO ACTION" {
                let sql =
                    "SELECT 1 FROM \(reference.table.quotedName) WHERE \(condition(reference)) LIMIT 1"
                if try withStatement(
                    sql,
                    body: {
                        try bind(id, to: $0)
                        return try $0.step()
                    })
                {
                    return reference
                }
            }
            for reference in ofParent where reference.rule == "CASCADE" {
                let rows = "SELECT rowid FROM \(reference.table.quotedName) WHERE \(condition(reference))"
                if let found = try search(reference.table, rows: rows) { return found }
            }
            return nil
        }
        return try search(table, rows: id == nil ? "SELECT rowid FROM \(table.quotedName)" : "?1")
    }

    private func bind(_ id: Int64?, to statement: Statement) throws {
        if let id { try statement.bind(id, at: 1) }
    }

    private func foreignKeys() throws -> [ForeignKeyColumn] {
        let sql =
            """
            SELECT m.name, f."from", f."table", f."to", f.on_delete \
            FROM sqlite_schema AS m, pragma_foreign_key_list(m.name) AS f WHERE m.type = 'table' ORDER BY m.name, f.id
            """
        return try withStatement(sql) { statement in
            var keys: [ForeignKeyColumn] = []
            while try statement.step() {
                keys.append(
                    ForeignKeyColumn(
                        table: try statement.text(0), column: try statement.text(1),
                        parent: try statement.text(2),
                        // A reference without a column refers to the key of the row.
                        parentColumn: statement.isNull(3) ? "rowid" : try statement.text(3),
                        rule: try statement.text(4)))
            }
            return keys
        }
    }
}
