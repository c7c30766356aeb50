// Functions that write one row with one statement.

extension Transaction {
    /// - Parameter lent: The statement for records without `objectId`, if the caller has taken it.
    func insert<Record>(_ record: inout Record, in table: Table<Record>, with lent: Statement?) throws {
        let statements = table.saving.statements
        if let id = record.objectId {
            record.objectId = try connection.withStatement(statements.insertWithID) { statement in
                try table.bind(&record, to: statement)
                try table.bindKey(id, to: statement, at: table.fields.count)
                return try runInsert(statement, isOverridden: statements.overridden.contains(.insertWithID))
            }
        } else {
            let statement = try lent ?? connection.take(statements.insert)
            defer { if lent == nil { connection.giveBack(statement) } }
            try table.bind(&record, to: statement)
            record.objectId = try runInsert(statement, isOverridden: statements.overridden.contains(.insert))
        }
    }

    private func runInsert(_ statement: Statement, isOverridden: Bool) throws -> Int64? {
        guard isOverridden else {
            try statement.run()
            return connection.insertedID
        }
        guard try statement.step() else {
            statement.rewind()
            return connection.insertedID
        }
        let given = try? statement.integer(0)
        try statement.run()
        return given
    }

    /// - Parameter only: The columns to update, or nil for all. Those that the library writes are added.
    func update<Record>(
        _ record: inout Record, from readVersion: Int64?, only: [Int]?, in table: Table<Record>
    ) throws {
        guard let id = record.objectId else { return }
        let plan = table.saving
        let isOverridden = plan.statements.overridden.contains(.update)
        // An override writes all columns.
        let columns = isOverridden ? nil : only.map { table.withManaged($0) }
        let isDone = try connection.withStatement(columns.map { table.updateSQL($0) } ?? table.updateSQL) { statement in
            var count = table.fields.count - 1
            if let columns {
                try table.bind(record, columns: columns, to: statement)
                count = columns.count
            } else {
                try table.bind(&record, to: statement)
            }
            try table.bindKey(id, to: statement, at: count + 1)
            if let readVersion { try table.bindKey(readVersion, to: statement, at: count + 2) }
            return try didChange(statement, isOverridden: isOverridden)
        }
        guard isDone else {
            if try isStale(id, in: table) { throw table.stale(id) }
            throw table.notFound(id)
        }
    }

    /// Returns false if the row did not exist.
    func remove<Record>(_ record: Record, in table: Table<Record>) throws -> Bool {
        guard let id = record.objectId else { return false }
        let plan = table.saving
        let isDone = try connection.withStatement(table.removeSQL) { statement in
            try table.bindKey(id, to: statement, at: 1)
            if let version = table.version(of: record) { try table.bindKey(version, to: statement, at: 2) }
            return try didChange(statement, isOverridden: plan.statements.overridden.contains(.remove))
        }
        if !isDone, try isStale(id, in: table) { throw table.stale(id) }
        return isDone
    }

    /// Returns false if the row exists and no column was to be overwritten. The record becomes equal to the row in
    /// either case.
    ///
    /// - Parameter lent: The statement of the plan, if the caller has taken it.
    func upsert<Record>(
        _ record: inout Record, by plan: UpsertPlan, in table: Table<Record>, with lent: Statement?
    ) throws -> Bool {
        let statement = try lent ?? connection.take(plan.sql)
        defer { if lent == nil { connection.giveBack(statement) } }
        try table.bind(record, columns: plan.columns, to: statement)
        if try statement.step() {
            try table.refresh(&record, from: statement)
            try statement.run()
            return true
        }
        statement.rewind()
        try connection.withStatement(plan.findSQL) { statement in
            try table.bind(record, columns: plan.key, to: statement)
            guard try statement.step() else {
                throw ActiveObjectError(
                    .notFound,
                    message:
                        "\(table.name) inserted no row and has no row with this key; a trigger may have rejected it",
                    table: table.name)
            }
            try table.refresh(&record, from: statement)
        }
        return false
    }

    /// Runs a statement that writes. Changes by triggers are not counted; an override reports them by returning a row.
    private func didChange(_ statement: Statement, isOverridden: Bool) throws -> Bool {
        let gaveRow = try isOverridden && statement.step()
        if !isOverridden || gaveRow { try statement.run() }
        return gaveRow || connection.changes > 0
    }

    /// Returns, after an update without effect, whether the row exists. If so, it has another version.
    private func isStale<Record>(_ id: Int64, in table: Table<Record>) throws -> Bool {
        guard table.saving.managed.version != nil else { return false }
        return try connection.withStatement(table.findSQL) { statement in
            try table.bindKey(id, to: statement, at: 1)
            return try statement.step()
        }
    }
}

extension Table {
    func notFound(_ id: Int64) -> ActiveObjectError {
        ActiveObjectError(
            .notFound,
            message: """
                \(name) has no row \(id) to update: it was removed, or never saved; `insert` saves a record as a new \
                row with its objectId
                """, table: name)
    }

    fileprivate func stale(_ id: Int64) -> ActiveObjectError {
        ActiveObjectError(
            .stale,
            message: "row \(id) of \(name) was changed by another caller since it was read; read it again and retry",
            table: name)
    }

    fileprivate func version(of record: Record) -> Int64? {
        unsafe withUnsafeBytes(of: record) { record in
            unsafe record.baseAddress.flatMap { unsafe saving.managed.version(of: $0) }
        }
    }

    fileprivate func withManaged(_ columns: [Int]) -> [Int] {
        columns + [saving.managed.updated?.column, saving.managed.version?.column].compactMap { $0 }
    }

    /// The maximum number of update statements that are kept. A process uses few different sets of columns.
    private static var updateLimit: Int { 64 }

    fileprivate func updateSQL(_ columns: [Int]) -> String {
        if let sql = saving.updates.withLock({ $0[columns] }) { return sql }
        let names = saving.statements.names
        let sets = columns.enumerated().map { "\(names[$1]) = ?\($0 + 1)" }.joined(separator: ", ")
        let version = saving.managed.version.map { " AND \(names[$0.column]) = ?\(columns.count + 2)" } ?? ""
        let sql = "UPDATE \(name.quotedName) SET \(sets) WHERE \(names[0]) = ?\(columns.count + 1)\(version)"
        saving.updates.withLock { updates in
            if updates.count >= Self.updateLimit { updates.removeAll() }
            updates[columns] = sql
        }
        return sql
    }
}
