/// What brings a record into its table.
enum SaveVerb {
    /// Inserts what has no `objectId`, updates what has one.
    case save
    /// Inserts, with the `objectId` that the record has, if it has one.
    case insert
    case upsert(UpsertPlan)
    /// Updates the columns that differ from an earlier value of the record.
    indirect case changes(since: any ActiveRecord)
}

extension Transaction {
    /// All that a save is, in its order: hook, times, rules, version, row, hook. False: there was nothing to write.
    ///
    /// If it throws, rows are as they were, and `record` is anything: callers hand in a copy.
    ///
    /// - Parameter lent: the statement for new records, or for the upsert, of who saves many and has no hooks that might
    ///   need it too.
    @discardableResult
    func put<Record>(
        _ record: inout Record, by verb: SaveVerb, in table: Table<Record>, with lent: Statement? = nil
    ) throws -> Bool {
        // What is not hooked writes one row with one statement, which is undone by itself.
        let absent = table.saving.absentHooks
        if absent.contain(.ofSaving) { return try write(&record, by: verb, in: table, with: lent) }
        return try savepoint {
            if !absent.contain(.willSave) { try record.willSave(in: self) }
            guard try write(&record, by: verb, in: table, with: nil) else { return false }
            if !absent.contain(.didSave) { try record.didSave(in: self) }
            return true
        }
    }

    private func write<Record>(
        _ record: inout Record, by verb: SaveVerb, in table: Table<Record>, with lent: Statement?
    ) throws -> Bool {
        let plan = table.saving
        let isInsert = verb.inserts(record.objectId)
        var changed: [Int]?
        if case .changes(let original) = verb, !isInsert, let original = original as? Record {
            let columns = try table.changedColumns(from: original, to: record)
            if columns.isEmpty { return false }
            changed = columns
        }
        unsafe withUnsafeMutableBytes(of: &record) { record in
            guard let record = record.baseAddress else { return }
            unsafe plan.managed.stamp(
                record, isInsert: isInsert, keepsCreated: verb.keepsCreated, transaction: self)
        }
        if !plan.rules.isEmpty {
            try table.validate(record, rowID: try rowID(of: record, by: verb, in: table), in: self)
        }
        let readVersion = unsafe withUnsafeMutableBytes(of: &record) { record in
            unsafe record.baseAddress.flatMap { unsafe plan.managed.count($0, isInsert: isInsert) }
        }
        if case .upsert(let plan) = verb { return try upsert(&record, plan, in: table, with: lent) }
        if isInsert {
            try self.insert(&record, in: table, with: lent)
        } else {
            try update(&record, from: readVersion, only: changed, in: table)
        }
        return true
    }

    /// The row that rules do not take for another one.
    private func rowID<Record>(
        of record: Record, by verb: SaveVerb, in table: Table<Record>
    ) throws -> Int64? {
        guard case .upsert(let plan) = verb else { return verb.inserts(record.objectId) ? nil : record.objectId }
        guard table.saving.hasUniqueRules else { return nil }
        return try connection.withStatement(plan.findSQL) { statement in
            try table.bind(record, columns: plan.key, to: statement)
            guard try statement.step() else { return nil }
            return try table.record(statement).objectId
        }
    }
}

extension SaveVerb {
    /// The statement that most of many records need.
    func sql(of statements: RecordStatements) -> String {
        if case .upsert(let plan) = self { plan.sql } else { statements.insert }
    }

    /// Whether a record becomes a new row; of an upsert, whether it may.
    fileprivate func inserts(_ objectId: Int64?) -> Bool {
        switch self {
        case .save, .changes: objectId == nil
        case .insert, .upsert: true
        }
    }

    /// Of rows that come from elsewhere.
    fileprivate var keepsCreated: Bool {
        if case .insert = self { true } else { false }
    }
}
