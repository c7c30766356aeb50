extension Table {
    /// Creates the table, or updates it to the current type: new columns, new and dropped indexes. Changes that would
    /// lose or invent data are a `badSchema` error and need a ``Migration``.
    ///
    /// Everything runs in the caller's transaction. A read-only database is not changed, so the table must fit.
    func prepare(on connection: Connection) throws {
        let definition = try self.definition()
        guard let file = try TableInFile.read(name, on: connection) else {
            guard !connection.isReadOnly else {
                throw definition.misfit("does not exist in the file, and the database is open read-only")
            }
            return try connection.create(definition)
        }
        let changes = try definition.changes(of: file)
        if connection.isReadOnly {
            // A missing index only makes queries slower.
            guard let missing = changes.addedColumns.first.map({ definition.columns[$0].name }) else { return }
            throw definition.misfit(
                "does not exist in the file, and the database is open read-only; open it for writing once",
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
        for index in changes.addedColumns { try add(definition.columns[index], to: definition) }
        for index in changes.newIndexes { try create(index, in: definition) }
    }

    private func add(_ column: TableDefinition.Column, to definition: TableDefinition) throws {
        var literal = try definition.defaultLiteral(of: column)
        if literal != nil { try checkDefault(of: column, in: definition, unless: &literal) }
        // An implied default would refer to a row that does not exist.
        if column.reference != nil, column.defaultValue == nil { literal = nil }
        // In a table with rows, SQLite accepts neither a NOT NULL column without a default nor a reference with one.
        if literal == nil ? !column.isOptional : column.reference != nil {
            let hasRows = try !rows("SELECT 1 FROM \(definition.name.quotedName) LIMIT 1") { _ in }.isEmpty
            guard !hasRows else {
                throw definition.misfit(
                    column.reference == nil
                        ? """
                        is new in \(definition.record), and the existing rows need a value: add one with \
                        Column(default:), or make the property optional
                        """
                        : """
                        is new in \(definition.record), and the existing rows refer to no row: make the property \
                        optional, without a default, or write a Migration
                        """, column: column.name)
            }
        }
        try run(
            "ALTER TABLE \(definition.name.quotedName) ADD COLUMN \(definition.text(of: column, default: literal))")
    }

    /// Creates an index with its conventional name. If the name is in use, a number is appended.
    func create(_ index: TableDefinition.Index, in definition: TableDefinition) throws {
        let conventional = index.name(in: definition.name)
        var name = conventional
        var number = 1
        while try !rows(
            "SELECT 1 FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE", parameters: [.text(name)], body: { _ in }
        ).isEmpty {
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
                message: """
                    \(definition.name) has rows with the same \(columns), which \(definition.record) now declares \
                    unique; change them in a Migration
                    """, table: definition.name, column: columns, resultCode: error.resultCode)
        }
    }

    // MARK: Defaults

    /// Throws if the property cannot be read from the default of its ``Column``.
    private func checkDefault(of column: TableDefinition.Column, in definition: TableDefinition) throws {
        var literal = try definition.defaultLiteral(of: column)
        try checkDefault(of: column, in: definition, unless: &literal)
    }

    /// Checks a default value. An implied one that cannot be read is set to nil.
    private func checkDefault(
        of column: TableDefinition.Column, in definition: TableDefinition, unless literal: inout String?
    ) throws {
        guard let text = literal else { return }
        let fault = try withStatement("SELECT \(text)") { statement -> ColumnFault? in
            _ = try statement.step()
            do throws(ColumnFault) {
                try column.codec.checkIsReadable(from: statement, at: 0)
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
                message: "\(definition.name).\(column.name) has an invalid default in \(definition.record): \(error)",
                table: definition.name, column: column.name, valueClass: column.valueClass)
        }
    }
}
