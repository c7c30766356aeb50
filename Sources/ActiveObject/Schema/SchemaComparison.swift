/// What has to be done to a table so that it fits its type.
struct SchemaChanges {
    /// By their place in the definition.
    var addedColumns: [Int] = []
    var newIndexes: [TableDefinition.Index] = []
    var obsoleteIndexes: [String] = []

    var isEmpty: Bool { addedColumns.isEmpty && newIndexes.isEmpty && obsoleteIndexes.isEmpty }
}

extension TableDefinition {
    private static var howToMigrate: String {
        "write a Migration that rebuilds the table (`transaction.rebuildTable(of:)`)"
    }

    /// Compares with the table in the file. What cannot be made to fit is an error that says what to do.
    func changes(of file: TableInFile) throws(ActiveObjectError) -> SchemaChanges {
        var changes = SchemaChanges()
        try checkKey(in: file)
        for (place, column) in columns.enumerated().dropFirst() {
            if let there = file.column(column.name) {
                try check(column, against: there, of: file)
            } else {
                guard file.kind == .table else {
                    throw misfit("is missing in the file, where \(name) is a \(file.kind)", column: column.name)
                }
                changes.addedColumns.append(place)
            }
        }
        try checkOthers(in: file)
        guard file.kind == .table else {
            guard indexes.isEmpty else {
                throw misfit("is a \(file.kind) in the file, which can have no indexes: declare none in \(record)")
            }
            return changes
        }
        for index in indexes where !file.indexes.contains(where: { $0.does(what: index) }) {
            changes.newIndexes.append(index)
        }
        for index in file.indexes where index.isConventional(in: name) {
            if !indexes.contains(where: { index.does(what: $0) }) { changes.obsoleteIndexes.append(index.name) }
        }
        return changes
    }

    private func checkKey(in file: TableInFile) throws(ActiveObjectError) {
        let key = columns[0].name
        guard let there = file.column(key) else {
            throw misfit(
                """
                is missing in the file: it is the key of \(record). If another column is, say so with \
                Column(\\.objectId, named: …)
                """, column: key)
        }
        guard file.kind == .table else { return }
        guard !file.isWithoutRowID else {
            throw misfit("is WITHOUT ROWID in the file, where SQLite numbers no rows: new records could not be saved")
        }
        // "INT PRIMARY KEY", or one over two columns, is an ordinary column to SQLite: nothing numbers its rows.
        guard there.keyPosition == 1, there.declaredType.nameKey == "INTEGER".nameKey,
            !file.columns.contains(where: { $0.keyPosition > 1 }), !file.indexes.contains(where: { $0.origin == "pk" })
        else {
            throw misfit(
                """
                is \(there.declaredType)\(there.keyPosition > 0 ? " and part of the primary key" : "") in the file, but \
                the key of a record must be INTEGER PRIMARY KEY: \(Self.howToMigrate)
                """, column: key)
        }
    }

    private func check(
        _ column: Column, against there: TableInFile.Column, of file: TableInFile
    ) throws(ActiveObjectError) {
        guard file.kind == .table else { return }
        let wanted = column.valueClass.sql
        guard !there.isGenerated else {
            throw misfit(
                "is computed by SQLite in the file and cannot be saved: leave it out of \(record)", column: column.name)
        }
        guard Affinity(declaredType: there.declaredType, isStrict: file.isStrict).keeps(column.codec) else {
            throw misfit(
                """
                is \(there.declaredType) in the file, but \(record) needs \(wanted) there: change the property, or \
                \(Self.howToMigrate)
                """, column: column.name)
        }
        guard !column.isOptional || !there.isNotNull else {
            throw misfit(
                """
                is NOT NULL in the file, but may be nil in \(record): make the property not optional, or \
                \(Self.howToMigrate)
                """, column: column.name)
        }
        // Other programs' tables seldom say NOT NULL; a NULL in one is told when it is read.
        guard column.isOptional || there.isNotNull || !file.isStrict else {
            throw misfit(
                """
                may be NULL in the file, but is not optional in \(record): make the property optional, or \
                \(Self.howToMigrate)
                """, column: column.name)
        }
        let collation = column.ignoresCase ? "NOCASE" : "BINARY"
        guard column.valueClass != .text || there.collation == nil || there.collation?.uppercased() == collation else {
            throw misfit(
                """
                is compared by \(there.collation ?? "") in the file, but by \(collation) in \(record): say \
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
        // Not deferred, NO ACTION is the same as RESTRICT.
        let rule = key.onDelete == "NO ACTION" ? "RESTRICT" : key.onDelete
        guard rule == target.onRemove.sql else {
            throw misfit(
                """
                refers to \(key.table) with ON DELETE \(key.onDelete) in the file, but to \(wanted) in \(record): \
                \(Self.howToMigrate)
                """, column: column.name)
        }
    }

    /// Columns that the type does not have stay as they are, if a row can do without a value there.
    private func checkOthers(in file: TableInFile) throws(ActiveObjectError) {
        let own = Set(columns.map(\.name.nameKey))
        for there in file.columns where !own.contains(there.name.nameKey) {
            if there.isNotNull, !there.hasDefault, !there.isGenerated, file.kind == .table {
                throw misfit(
                    """
                    is NOT NULL without a default in the file, and \(record) has no such property: no new record \
                    could be saved. Give it back, or write a Migration that drops the column (`dropColumn`) or renames \
                    it (`renameColumn`)
                    """, column: there.name)
            }
        }
    }
}

// MARK: Indexes and their names

extension TableDefinition.Index {
    /// `persons_name_age_key` and `persons_rank_index`.
    func name(in table: String) -> String {
        ([table] + columns + [isUnique ? "key" : "index"]).joined(separator: "_")
    }
}

extension TableInFile.Index {
    /// Whoever made it and whatever it is called.
    func does(what index: TableDefinition.Index) -> Bool {
        isUnique == index.isUnique && !isPartial && isPlain
            && columns.map { $0?.nameKey } == index.columns.map(\.nameKey)
    }

    /// Whether its name is the one that we would have given it, perhaps with a number behind it.
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
