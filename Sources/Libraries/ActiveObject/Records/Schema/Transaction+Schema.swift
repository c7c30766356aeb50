// Functions for migrations. Tables and columns are named by text, because a migration uses the names at the time when
// it was written. If the change has already been made, or the table does not exist, the functions do nothing: a table
// that is created later is created from its type.

extension Transaction {
    /// Renames a table. References to it are updated, and indexes with conventional names are renamed.
    ///
    /// - Parameters:
    ///   - old: The current name. If there is no such table, nothing happens.
    ///   - new: The new name.
    /// - Throws: ``ActiveObjectError/Code-swift.struct/badMigration`` if both tables exist.
    public func renameTable(from old: String, to new: String) throws {
        guard let file = try TableInFile.read(old, on: connection) else { return }
        guard try old.nameKey == new.nameKey || TableInFile.read(new, on: connection) == nil else {
            throw ActiveObjectError(
                .badMigration, message: "both a table \(old) and a table \(new) exist; drop one, or move its rows",
                table: old)
        }
        let indexes = try dropConventionalIndexes(of: file, named: old)
        try connection.run("ALTER TABLE \(old.quotedName) RENAME TO \(new.quotedName)")
        try create(indexes, on: new)
        forgetTables()
    }

    /// Renames a column, also in indexes and references.
    ///
    /// - Parameters:
    ///   - table: The table. If it does not exist, nothing happens.
    ///   - old: The current name.
    ///   - new: The new name.
    /// - Throws: ``ActiveObjectError/Code-swift.struct/badMigration`` if both columns exist, or neither.
    public func renameColumn(of table: String, from old: String, to new: String) throws {
        guard let file = try TableInFile.read(table, on: connection) else { return }
        let isOther = old.nameKey != new.nameKey
        switch (file.column(old) != nil, isOther && file.column(new) != nil) {
        case (false, true): return
        case (false, false):
            throw ActiveObjectError(
                .badMigration, message: "\(table) has neither a column \(old) nor a column \(new)", table: table,
                column: old)
        case (true, true):
            throw ActiveObjectError(
                .badMigration, message: "\(table) has both a column \(old) and a column \(new); drop one", table: table,
                column: old)
        case (true, false): break
        }
        let indexes = try dropConventionalIndexes(of: file, named: table) { $0.nameKey == old.nameKey ? new : $0 }
        try connection.run(
            "ALTER TABLE \(table.quotedName) RENAME COLUMN \(old.quotedName) TO \(new.quotedName)")
        try create(indexes, on: table)
        forgetTables()
    }

    /// Removes a column with all its values, and the indexes with conventional names that contain it.
    public func dropColumn(_ column: String, of table: String) throws {
        guard let file = try TableInFile.read(table, on: connection), file.column(column) != nil else { return }
        for index in file.indexes
        where index.isConventional(in: table) && index.columns.contains(where: { $0?.nameKey == column.nameKey }) {
            try connection.run("DROP INDEX \(index.name.quotedName)")
        }
        try connection.run("ALTER TABLE \(table.quotedName) DROP COLUMN \(column.quotedName)")
        forgetTables()
    }

    /// Recreates a table from its type and moves the rows. Use it for another type of a property, another rule of a
    /// reference, and other changes that SQLite cannot make in place.
    ///
    /// It only works in a migration, where foreign keys are not enforced; otherwise dropping the old table would remove
    /// the rows that refer to it.
    ///
    /// - Parameters:
    ///   - type: The record type.
    ///   - expressions: SQL by column that computes its value from the old row, as in `["age": "CAST(age AS TEXT)"]`.
    ///     Other columns are copied by name; new columns get their defaults.
    ///   - dropped: Columns in the file that the type no longer has. They are removed with their values.
    /// - Throws: ``ActiveObjectError/Code-swift.struct/badMigration`` outside of a migration, or if the rows cannot be
    ///   moved.
    public func rebuildTable<Record: ActiveRecord>(
        of type: Record.Type, taking expressions: [String: String] = [:], dropping dropped: [String] = []
    ) throws {
        let definition = try Tables.table(of: type).definition()
        let name = definition.name
        guard try connection.rows("PRAGMA foreign_keys", body: { $0[0] }) == [.integer(0)] else {
            throw ActiveObjectError(.badMigration, message: "\(name) can only be rebuilt in a Migration", table: name)
        }
        guard let file = try TableInFile.read(name, on: connection) else { return }
        let sources = try definition.sources(from: file, expressions: expressions, dropped: dropped)
        let ours = Set(file.indexes.filter { $0.isConventional(in: name) }.map(\.name))
        let others = try connection.rows(
            """
            SELECT name, sql FROM sqlite_schema
            WHERE tbl_name = ?1 COLLATE NOCASE AND type IN ('index', 'trigger') AND sql IS NOT NULL
            """, parameters: [.text(name)]
        ) { row -> String? in
            guard case .text(let name) = row[0], case .text(let sql) = row[1] else { return nil }
            return ours.contains(name) ? nil : sql
        }

        let new = "\(name)_rebuilt"
        try connection.run(try definition.createSQL(as: new))
        try connection.run(
            """
            INSERT INTO \(new.quotedName) (\(definition.columns.map(\.name.quotedName).joined(separator: ", "))) \
            SELECT \(sources.joined(separator: ", ")) FROM \(name.quotedName)
            """)
        try connection.run("DROP TABLE \(name.quotedName)")
        // With the legacy behavior, references and views keep naming the table, which now is the new one, and are not
        // checked.
        try connection.run("PRAGMA legacy_alter_table = 1")
        defer { try? connection.run("PRAGMA legacy_alter_table = 0") }
        try connection.run("ALTER TABLE \(new.quotedName) RENAME TO \(name.quotedName)")
        for sql in others { if let sql { try connection.run(sql) } }
        for index in definition.indexes { try connection.create(index, in: definition) }
        forgetTables()
    }

    // MARK: Indexes with conventional names

    private func dropConventionalIndexes(
        of file: TableInFile, named table: String, rename: (String) -> String = { $0 }
    ) throws -> [TableDefinition.Index] {
        try file.indexes.filter { $0.isConventional(in: table) && $0.isPlain && !$0.isPartial }.map { index in
            try connection.run("DROP INDEX \(index.name.quotedName)")
            return TableDefinition.Index(
                columns: index.columns.compactMap(\.self).map(rename), isUnique: index.isUnique)
        }
    }

    private func create(_ indexes: [TableDefinition.Index], on table: String) throws {
        let definition = TableDefinition(record: table, name: table, columns: [], indexes: indexes)
        for index in indexes { try connection.create(index, in: definition) }
    }
}

extension TableDefinition {
    /// Returns the expression for each column, in terms of the columns of the table that is replaced.
    fileprivate func sources(
        from file: TableInFile, expressions: [String: String], dropped: [String]
    ) throws(ActiveObjectError) -> [String] {
        let own = Set(columns.map(\.name.nameKey))
        let expressions = Dictionary(
            expressions.map { ($0.key.nameKey, $0.value) }, uniquingKeysWith: { first, _ in first })
        for name in expressions.keys where !own.contains(name) {
            throw error(
                .badMigration,
                problem: "has no column \(String(decoding: name, as: UTF8.self)) for the given expression")
        }
        let dropped = Set(dropped.map(\.nameKey))
        for column in file.columns where !own.contains(column.name.nameKey) && !column.isGenerated {
            guard dropped.contains(column.name.nameKey) else {
                throw error(
                    .badMigration,
                    problem: """
                        is in the file but not in \(record); rename it first, or list it in `dropping` to remove its \
                        values
                        """, column: column.name)
            }
        }
        var sources: [String] = []
        for column in columns {
            if let expression = expressions[column.name.nameKey] {
                sources.append("(\(expression))")
            } else {
                sources.append(try source(of: column, from: file.column(column.name)))
            }
        }
        return sources
    }

    private func source(of column: Column, from existing: TableInFile.Column?) throws(ActiveObjectError) -> String {
        let standard = try defaultLiteral(of: column)
        guard let existing else {
            if let standard { return standard }
            if column.isOptional { return "NULL" }
            throw error(
                .badMigration, problem: "is new and needs a value; add an expression, or a Column(default:)",
                column: column.name)
        }
        guard column.defaultValue != nil, !column.isOptional, let standard else { return existing.name.quotedName }
        return "coalesce(\(existing.name.quotedName), \(standard))"
    }
}
