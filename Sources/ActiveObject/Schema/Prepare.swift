extension Table {
    /// Makes the table, or brings it up to what the type is now: new columns, new and dropped indexes. What that cannot
    /// do without losing or inventing data is a `badSchema` error, and for a `Migration`.
    ///
    /// The caller's transaction holds all of it. Where nothing may be written nothing is, and the table must fit.
    func prepare(on connection: Connection) throws {
        let definition = try self.definition()
        guard let file = try TableInFile.read(name, on: connection) else {
            guard !connection.isReadOnly else {
                throw definition.misfit("is not in the file, and the database is open for reading only")
            }
            return try connection.create(definition)
        }
        let changes = try definition.changes(of: file)
        if connection.isReadOnly {
            // Without an index it works all the same.
            guard let missing = changes.addedColumns.first.map({ definition.columns[$0].name }) else { return }
            throw definition.misfit(
                "is not in the file, and the database is open for reading only: open it for writing once",
                column: missing)
        }
        if !changes.isEmpty { try connection.apply(changes, to: definition) }
    }
}

extension Connection {
    func create(_ definition: TableDefinition) throws {
        for column in definition.columns.dropFirst() where column.defaultValue != nil {
            try checkDefault(of: column, in: definition)
        }
        try run(try definition.createSQL())
        for index in definition.indexes { try create(index, in: definition) }
    }

    fileprivate func apply(_ changes: SchemaChanges, to definition: TableDefinition) throws {
        for name in changes.obsoleteIndexes { try run("DROP INDEX \(name.quotedName)") }
        for place in changes.addedColumns { try add(definition.columns[place], to: definition) }
        for index in changes.newIndexes { try create(index, in: definition) }
    }

    private func add(_ column: TableDefinition.Column, to definition: TableDefinition) throws {
        var literal = try definition.defaultLiteral(of: column)
        if literal != nil { try checkDefault(of: column, in: definition, unless: &literal) }
        // No row refers to what a default that nobody gave would name.
        if column.reference != nil, column.defaultValue == nil { literal = nil }
        // With rows there, SQLite takes neither a NOT NULL without a default nor a reference with one.
        if literal == nil ? !column.isOptional : column.reference != nil {
            let hasRows = try !rows("SELECT 1 FROM \(definition.name.quotedName) LIMIT 1") { _ in }.isEmpty
            guard !hasRows else {
                throw definition.misfit(
                    column.reference == nil
                        ? """
                        is new in \(definition.record), and the rows that are there need a value: give one with \
                        Column(default:), or make the property optional
                        """
                        : """
                        is new in \(definition.record), and the rows that are there refer to nothing: make the property \
                        optional, without a default, or write a Migration
                        """, column: column.name)
            }
        }
        try run(
            "ALTER TABLE \(definition.name.quotedName) ADD COLUMN \(definition.text(of: column, default: literal))")
    }

    /// Under the name that the convention gives it; if something else has that, with a number.
    func create(_ index: TableDefinition.Index, in definition: TableDefinition) throws {
        let conventional = index.name(in: definition.name)
        var name = conventional
        var number = 1
        while try !rows("SELECT 1 FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE", [.text(name)], { _ in }).isEmpty {
            number += 1
            name = "\(conventional)_\(number)"
        }
        do throws(ActiveObjectError) {
            try run(definition.createSQL(of: index, as: name))
        } catch {
            guard error.code == .notUnique else { throw error }
            let columns = index.columns.joined(separator: ", ")
            throw ActiveObjectError(
                .notUnique,
                """
                \(definition.name) has rows with the same \(columns), which \(definition.record) now declares unique: \
                change them in a Migration
                """, table: definition.name, column: columns, resultCode: error.resultCode)
        }
    }

    // MARK: Defaults

    /// The default that `Column` gives must be one that the property can be read from.
    private func checkDefault(of column: TableDefinition.Column, in definition: TableDefinition) throws {
        var literal = try definition.defaultLiteral(of: column)
        try checkDefault(of: column, in: definition, unless: &literal)
    }

    /// One that nobody gave and that cannot be read is no default.
    private func checkDefault(
        of column: TableDefinition.Column, in definition: TableDefinition, unless literal: inout String?
    ) throws {
        guard let text = literal else { return }
        let fault = try withStatement("SELECT \(text)") { statement -> ColumnFault? in
            _ = try statement.step()
            do throws(ColumnFault) {
                try column.codec.check(statement, 0)
                return nil
            } catch {
                return error
            }
        }
        guard let fault else { return }
        if column.defaultValue == nil {
            literal = nil
        } else {
            let error = fault.error(
                table: definition.name, column: column.name, wanted: column.valueClass, isPrivate: column.isPrivate)
            throw ActiveObjectError(
                .badRecord,
                "\(definition.name).\(column.name) has a default in \(definition.record) that it cannot be: \(error)",
                table: definition.name, column: column.name, valueClass: column.valueClass)
        }
    }
}
