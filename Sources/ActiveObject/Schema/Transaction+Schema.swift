// What migrations need. Names of tables and columns are texts here, since a migration is about what they were called
// when it was written. Where its work is done already, or there is no table to work on, each does nothing: a table that
// is made later is made from its type.

extension Transaction {
    /// Gives a table another name. What refers to it follows; indexes of ours are renamed with it.
    public func renameTable(from old: String, to new: String) throws {
        guard let file = try TableInFile.read(old, on: connection) else { return }
        guard try old.nameKey == new.nameKey || TableInFile.read(new, on: connection) == nil else {
            throw ActiveObjectError(
                .badMigration, "there are a table \(old) and a table \(new): drop one, or move its rows", table: old)
        }
        let indexes = try dropConventionalIndexes(of: file, named: old)
        try connection.run("ALTER TABLE \(old.quotedName) RENAME TO \(new.quotedName)")
        try create(indexes, on: new)
        forgetTables()
    }

    /// Gives a column another name, in indexes and references too.
    public func renameColumn(of table: String, from old: String, to new: String) throws {
        guard let file = try TableInFile.read(table, on: connection) else { return }
        let isOther = old.nameKey != new.nameKey
        switch (file.column(old) != nil, isOther && file.column(new) != nil) {
        case (false, true): return
        case (false, false):
            throw ActiveObjectError(
                .badMigration, "\(table) has neither a column \(old) nor a column \(new)", table: table, column: old)
        case (true, true):
            throw ActiveObjectError(
                .badMigration, "\(table) has a column \(old) and a column \(new): drop one", table: table, column: old)
        case (true, false): break
        }
        let indexes = try dropConventionalIndexes(of: file, named: table) { $0.nameKey == old.nameKey ? new : $0 }
        try connection.run(
            "ALTER TABLE \(table.quotedName) RENAME COLUMN \(old.quotedName) TO \(new.quotedName)")
        try create(indexes, on: table)
        forgetTables()
    }

    /// Removes a column and all its values, and indexes of ours that have it.
    public func dropColumn(_ column: String, of table: String) throws {
        guard let file = try TableInFile.read(table, on: connection), file.column(column) != nil else { return }
        for index in file.indexes
        where index.isConventional(in: table) && index.columns.contains(where: { $0?.nameKey == column.nameKey }) {
            try connection.run("DROP INDEX \(index.name.quotedName)")
        }
        try connection.run("ALTER TABLE \(table.quotedName) DROP COLUMN \(column.quotedName)")
        forgetTables()
    }

    /// Makes a table anew from its type and moves the rows: for another type of a property, another rule of a
    /// reference, and whatever else SQLite cannot change in place.
    ///
    /// Only in a migration, where foreign keys rest: to drop a table would remove the rows that refer to it.
    ///
    /// - Parameters:
    ///   - expressions: by column, SQL that computes its value from the old row, as in `["age": "CAST(age AS TEXT)"]`.
    ///     Other columns are taken over by name; new ones get their defaults.
    ///   - dropped: columns of the file that the type has no more, and that are to go with their values.
    public func rebuildTable<Record: ActiveRecord>(
        of type: Record.Type, taking expressions: [String: String] = [:], dropping dropped: [String] = []
    ) throws {
        let definition = try Tables.table(of: type).definition()
        let name = definition.name
        guard try connection.rows("PRAGMA foreign_keys", [], { $0[0] }) == [.integer(0)] else {
            throw ActiveObjectError(.badMigration, "\(name) can be rebuilt in a Migration only", table: name)
        }
        guard let file = try TableInFile.read(name, on: connection) else { return }
        let sources = try definition.sources(from: file, expressions: expressions, dropped: dropped)
        let ours = Set(file.indexes.filter { $0.isConventional(in: name) }.map(\.name))
        let others = try connection.rows(
            """
            SELECT name, sql FROM sqlite_schema
            WHERE tbl_name = ?1 COLLATE NOCASE AND type IN ('index', 'trigger') AND sql IS NOT NULL
            """, [.text(name)]
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
        // The old way of renaming: what refers to the table means the new one from now on, and is not looked at.
        try connection.run("PRAGMA legacy_alter_table = 1")
        defer { try? connection.run("PRAGMA legacy_alter_table = 0") }
        try connection.run("ALTER TABLE \(new.quotedName) RENAME TO \(name.quotedName)")
        for sql in others { if let sql { try connection.run(sql) } }
        for index in definition.indexes { try connection.create(index, in: definition) }
        forgetTables()
    }

    // MARK: Indexes that follow a name

    private func dropConventionalIndexes(
        of file: TableInFile, named table: String, _ rename: (String) -> String = { $0 }
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
    /// What each column is computed from, in the columns of the table that it replaces.
    fileprivate func sources(
        from file: TableInFile, expressions: [String: String], dropped: [String]
    ) throws(ActiveObjectError) -> [String] {
        let own = Set(columns.map(\.name.nameKey))
        let expressions = Dictionary(
            expressions.map { ($0.key.nameKey, $0.value) }, uniquingKeysWith: { first, _ in first })
        for name in expressions.keys where !own.contains(name) {
            throw error(
                .badMigration, "has no column \(String(decoding: name, as: UTF8.self)) that an expression could be for")
        }
        let dropped = Set(dropped.map(\.nameKey))
        for column in file.columns where !own.contains(column.name.nameKey) && !column.isGenerated {
            guard dropped.contains(column.name.nameKey) else {
                throw error(
                    .badMigration,
                    """
                    is in the file and not in \(record): rename it first, or name it in `dropping`, if its values are to \
                    go
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

    private func source(of column: Column, from there: TableInFile.Column?) throws(ActiveObjectError) -> String {
        let standard = try defaultLiteral(of: column)
        guard let there else {
            if let standard { return standard }
            if column.isOptional { return "NULL" }
            throw error(
                .badMigration, "is new and needs a value: give an expression, or a Column(default:)",
                column: column.name)
        }
        guard column.defaultValue != nil, !column.isOptional, let standard else { return there.name.quotedName }
        return "coalesce(\(there.name.quotedName), \(standard))"
    }
}
