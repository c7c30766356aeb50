/// The changes that make a table fit its type.
struct SchemaChanges {
    /// The indexes of the columns in the definition.
    var addedColumns: [Int] = []
    var newIndexes: [TableDefinition.Index] = []
    var obsoleteIndexes: [String] = []

    var isEmpty: Bool { addedColumns.isEmpty && newIndexes.isEmpty && obsoleteIndexes.isEmpty }
}

extension TableDefinition {
    private static var howToMigrate: String {
        "write a Migration that rebuilds the table (`transaction.rebuildTable(of:)`)"
    }

    /// Compares the definition with the table in the file. Throws an error with instructions if the table cannot be
    /// made to fit.
    func changes(of file: TableInFile) throws(ActiveObjectError) -> SchemaChanges {
        var changes = SchemaChanges()
        try checkKey(in: file)
        for (index, column) in columns.enumerated().dropFirst() {
            if let existing = file.column(column.name) {
                try check(column, against: existing, of: file)
            } else {
                guard file.kind == .table else {
                    throw misfit("does not exist in the file, where \(name) is a \(file.kind)", column: column.name)
                }
                changes.addedColumns.append(index)
            }
        }
        try checkOthers(in: file)
        guard file.kind == .table else {
            guard indexes.isEmpty else {
                throw misfit("is a \(file.kind) in the file, which cannot have indexes; declare none in \(record)")
            }
            return changes
        }
        for index in indexes where !file.indexes.contains(where: { $0.isEquivalent(to: index) }) {
            changes.newIndexes.append(index)
        }
        for index in file.indexes where index.isConventional(in: name) {
            if !indexes.contains(where: { index.isEquivalent(to: $0) }) { changes.obsoleteIndexes.append(index.name) }
        }
        return changes
    }

    private func checkKey(in file: TableInFile) throws(ActiveObjectError) {
        let key = columns[0].name
        guard let existing = file.column(key) else {
            throw misfit(
                """
                does not exist in the file, but is the key of \(record). If the key has another name, declare it with \
                Column(\\.objectId, named: …)
                """, column: key)
        }
        guard file.kind == .table else { return }
        guard !file.isWithoutRowID else {
            throw misfit("is WITHOUT ROWID in the file, so SQLite does not number its rows; rebuild it with row ids")
        }
        // "INT PRIMARY KEY" and a key over two columns are ordinary columns in SQLite, which does not number their
        // rows.
        guard existing.keyPosition == 1, existing.declaredType.nameKey == "INTEGER".nameKey,
            !file.columns.contains(where: { $0.keyPosition > 1 }), !file.indexes.contains(where: { $0.origin == "pk" })
        else {
            throw misfit(
                """
                is \(existing.declaredType)\(existing.keyPosition > 0 ? " and part of the primary key" : "") in the \
                file, but the key of a record must be INTEGER PRIMARY KEY: \(Self.howToMigrate)
                """, column: key)
        }
    }

    private func check(
        _ column: Column, against existing: TableInFile.Column, of file: TableInFile
    ) throws(ActiveObjectError) {
        guard file.kind == .table else { return }
        let wanted = column.valueClass.sql
        guard !existing.isGenerated else {
            throw misfit(
                "is a generated column in the file and cannot be saved; leave it out of \(record)", column: column.name)
        }
        guard Affinity(declaredType: existing.declaredType, isStrict: file.isStrict).keeps(column.codec) else {
            throw misfit(
                """
                is \(existing.declaredType) in the file, but \(record) needs \(wanted) there: change the property, or \
                \(Self.howToMigrate)
                """, column: column.name)
        }
        guard !column.isOptional || !existing.isNotNull else {
            throw misfit(
                """
                is NOT NULL in the file, but may be nil in \(record): make the property not optional, or \
                \(Self.howToMigrate)
                """, column: column.name)
        }
        // Tables of other programs often lack NOT NULL. Reading a NULL throws.
        guard column.isOptional || existing.isNotNull || !file.isStrict else {
            throw misfit(
                """
                may be NULL in the file, but is not optional in \(record): make the property optional, or \
                \(Self.howToMigrate)
                """, column: column.name)
        }
        let collation = column.ignoresCase ? "NOCASE" : "BINARY"
        guard column.valueClass != .text || existing.collation == nil || existing.collation?.uppercased() == collation
        else {
            throw misfit(
                """
                is compared by \(existing.collation ?? "") in the file, but by \(collation) in \(record): declare \
                `ignoresCase` as it is there, or \(Self.howToMigrate)
                """, column: column.name)
        }
        try checkReference(of: column, in: file)
    }

    private func checkReference(of column: Column, in file: TableInFile) throws(ActiveObjectError) {
        guard let target = column.reference else { return }
        let keys = file.foreignKeys.filter { $0.columns.map(\.nameKey) == [column.name.nameKey] }
        let wanted = "\(target.table) with ON DELETE \(target.onRemove.sql)"
        guard let key = keys.first(where: { $0.table.nameKey == target.table.nameKey }),
            key.target == nil || key.target?.nameKey == target.column.nameKey
        else {
            throw misfit(
                """
                refers to \(keys.first?.table ?? "nothing") in the file, but to \(wanted) in \(record): \
                \(Self.howToMigrate)
                """, column: column.name)
        }
        // NO ACTION that is not deferred is the same as RESTRICT.
        let rule = key.onDelete == "NO ACTION" ? "RESTRICT" : key.onDelete
        guard rule == target.onRemove.sql else {
            throw misfit(
                """
                refers to \(key.table) with ON DELETE \(key.onDelete) in the file, but to \(wanted) in \(record): \
                \(Self.howToMigrate)
                """, column: column.name)
        }
    }

    /// Checks the columns that the type does not have. They are kept if a new row needs no value for them.
    private func checkOthers(in file: TableInFile) throws(ActiveObjectError) {
        let own = Set(columns.map(\.name.nameKey))
        for existing in file.columns where !own.contains(existing.name.nameKey) {
            if existing.isNotNull, !existing.hasDefault, !existing.isGenerated, file.kind == .table {
                throw misfit(
                    """
                    is NOT NULL without a default in the file, and \(record) has no such property, so new records \
                    could not be saved: restore the property, or write a Migration that drops the column \
                    (`dropColumn`) or renames it (`renameColumn`)
                    """, column: existing.name)
            }
        }
    }
}

// MARK: Indexes and their names

extension TableDefinition.Index {
    /// Returns `persons_name_age_key` or `persons_rank_index`.
    func name(in table: String) -> String {
        ([table] + columns + [isUnique ? "key" : "index"]).joined(separator: "_")
    }
}

extension TableInFile.Index {
    /// Returns whether the index is equivalent to `index`, whatever its name and origin.
    func isEquivalent(to index: TableDefinition.Index) -> Bool {
        isUnique == index.isUnique && !isPartial && isPlain
            && columns.map { $0?.nameKey } == index.columns.map(\.nameKey)
    }

    /// Returns whether the index has its conventional name, possibly followed by a number.
    func isConventional(in table: String) -> Bool {
        let names = columns.compactMap(\.self)
        guard origin == "c", names.count == columns.count else { return false }
        let conventional = TableDefinition.Index(columns: names, isUnique: isUnique).name(in: table).nameKey
        let key = name.nameKey
        guard key.starts(with: conventional) else { return false }
        let rest = key.dropFirst(conventional.count)
        return rest.isEmpty
            || rest.count > 1 && rest.first == UInt8(ascii: "_")
                && rest.dropFirst().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
