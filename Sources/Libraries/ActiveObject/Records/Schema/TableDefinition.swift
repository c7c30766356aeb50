/// The table that a type requires in the file, independent of the type: names, classes and constraints.
struct TableDefinition {
    struct Column {
        let name: String
        let codec: any ColumnCodec.Type
        let ignoresCase: Bool
        let defaultValue: SQLValue?
        let isPrivate: Bool
        let reference: Target?

        var valueClass: ValueClass { codec.valueClass }
        var isOptional: Bool { codec.isOptional }
    }

    /// The target of a foreign key.
    struct Target {
        let table: String
        let column: String
        let onRemove: RemoveRule
    }

    struct Index {
        let columns: [String]
        let isUnique: Bool
    }

    /// The name of the Swift type, for messages.
    let record: String
    let name: String
    /// The columns, with the key first, as in `Table.fields`.
    let columns: [Column]
    let indexes: [Index]

    /// Returns the error that the table in the file does not fit the type.
    func misfit(_ problem: String, column: String? = nil) -> ActiveObjectError {
        error(.badSchema, problem: problem, column: column)
    }

    func error(_ code: ActiveObjectError.Code, problem: String, column: String? = nil) -> ActiveObjectError {
        let subject = column.map { "\(name).\($0)" } ?? "the table \(name)"
        return ActiveObjectError(code, message: "\(subject) \(problem)", table: name, column: column)
    }
}

// MARK: SQL

extension TableDefinition {
    /// - Parameter name: Another name than its own, for a table that will replace it.
    func createSQL(as name: String? = nil) throws(ActiveObjectError) -> String {
        var parts = ["\(columns[0].name.quotedName) INTEGER PRIMARY KEY"]
        for column in columns.dropFirst() {
            parts.append(
                text(of: column, default: column.defaultValue == nil ? nil : try defaultLiteral(of: column)))
        }
        return "CREATE TABLE \((name ?? self.name).quotedName) (\(parts.joined(separator: ", "))) STRICT"
    }

    /// Returns a column definition for CREATE TABLE and ADD COLUMN.
    func text(of column: Column, default defaultLiteral: String?) -> String {
        var text = "\(column.name.quotedName) \(column.valueClass.sql)"
        if column.ignoresCase { text += " COLLATE NOCASE" }
        if !column.isOptional { text += " NOT NULL" }
        if let defaultLiteral { text += " DEFAULT \(defaultLiteral)" }
        if let target = column.reference {
            text += " REFERENCES \(target.table.quotedName) (\(target.column.quotedName))"
            text += " ON DELETE \(target.onRemove.sql)"
        }
        return text
    }

    func createSQL(of index: Index, as indexName: String) -> String {
        """
        CREATE \(index.isUnique ? "UNIQUE " : "")INDEX \(indexName.quotedName) \
        ON \(name.quotedName) (\(index.columns.map(\.quotedName).joined(separator: ", ")))
        """
    }

    /// Returns the value for existing rows when the column is added: that of ``Column``, or else the empty value of its
    /// class. Returns nil if the class has no empty value.
    func defaultLiteral(of column: Column) throws(ActiveObjectError) -> String? {
        if let value = column.defaultValue { return try literal(value, for: column) }
        // The empty value would be 2001-01-01, which is an ordinary date.
        guard !column.isOptional, !column.codec.isDate else { return nil }
        return switch column.valueClass {
        case .integer: "0"
        case .real: "0.0"
        case .text: "''"
        case .blob: "x''"
        case .null: nil
        }
    }

    private func literal(_ value: SQLValue, for column: Column) throws(ActiveObjectError) -> String {
        // A column of reals would convert it.
        if case .integer(let number) = value, column.valueClass == .real { return "\(number).0" }
        guard let literal = value.literal else {
            throw error(
                .badRecord, problem: "has a default that SQL cannot express (NaN, or text with a NUL)",
                column: column.name)
        }
        return literal
    }
}

extension RemoveRule {
    var sql: String {
        switch self {
        case .restrict: "RESTRICT"
        case .cascade: "CASCADE"
        case .setNil: "SET NULL"
        }
    }
}

extension SQLValue {
    /// The value as an SQL literal. It is only used for the default of a column, which cannot be bound.
    var literal: String? {
        switch self {
        case .null: return "NULL"
        case .integer(let value): return "\(value)"
        case .real(let value):
            if value.isNaN { return nil }
            if value.isInfinite { return value < 0 ? "-9e999" : "9e999" }
            return "\(value)"
        case .text(let value):
            guard !value.utf8.contains(0) else { return nil }
            return value.quoted(in: UInt8(ascii: "'"))
        case .blob(let value):
            let digits = Array("0123456789abcdef")
            return "x'" + String(value.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }) + "'"
        }
    }
}

extension Table {
    /// Returns the definition of the table. The targets of references must be records; their tables need not exist.
    func definition() throws(ActiveObjectError) -> TableDefinition {
        var targets: [String: TableDefinition.Target] = [:]
        for reference in Record.references {
            let field = try self.field(reference.keyPath)
            guard reference.onRemove != .setNil || field.codec.isOptional else {
                throw ActiveObjectError(
                    .badRecord,
                    message: """
                        \(name).\(field.column) has `onRemove: .setNil` but is not optional; make it an Int64?, or \
                        choose another rule
                        """, table: name, column: field.column)
            }
            let (table, column) = try Tables.key(of: reference.target)
            let target = TableDefinition.Target(table: table, column: column, onRemove: reference.onRemove)
            guard targets.updateValue(target, forKey: field.column) == nil else {
                throw ActiveObjectError(
                    .badRecord, message: "\(Record.self).references names \(field.column) twice", table: name,
                    column: field.column)
            }
        }
        var wanted: [TableDefinition.Index] = []
        for index in indexes {
            var columns: [String] = []
            for keyPath in index.keyPaths { columns.append(try field(keyPath).column) }
            guard !columns.isEmpty else {
                throw ActiveObjectError(
                    .badRecord, message: "\(Record.self).indexes has an index without columns", table: name)
            }
            let isKnown = wanted.contains { $0.columns == columns && $0.isUnique == index.isUnique }
            if !isKnown { wanted.append(TableDefinition.Index(columns: columns, isUnique: index.isUnique)) }
        }
        // When a row is removed, SQLite searches for rows that refer to it. Without an index it would scan the whole
        // table.
        for field in fields where targets[field.column] != nil {
            guard !wanted.contains(where: { $0.columns[0] == field.column }) else { continue }
            wanted.append(TableDefinition.Index(columns: [field.column], isUnique: false))
        }
        return TableDefinition(
            record: "\(Record.self)", name: name,
            columns: fields.map {
                TableDefinition.Column(
                    name: $0.column, codec: $0.codec, ignoresCase: $0.ignoresCase, defaultValue: $0.defaultValue,
                    isPrivate: $0.isPrivate, reference: targets[$0.column])
            }, indexes: wanted)
    }
}
