/// The operations that write a record.
enum SaveVerb {
    /// Inserts a record without `objectId`, updates one with it.
    case save
    /// Inserts, with the record's `objectId` if it has one.
    case insert
    case upsert(UpsertPlan)
    /// Updates the columns that differ from an earlier value of the record.
    indirect case changes(since: any ActiveRecord)
}

extension Transaction {
    /// Runs all steps of a save in order: hook, timestamps, rules, version, row, hook. Returns false if there was
    /// nothing to write.
    ///
    /// If it throws, rows are unchanged and `record` is undefined, so callers pass a copy.
    ///
    /// - Parameter lent: The statement for new records or for the upsert, from a caller that saves many records without
    ///   hooks.
    @discardableResult
    func put<Record>(
        _ record: inout Record, by verb: SaveVerb, in table: Table<Record>, with lent: Statement? = nil
    ) throws -> Bool {
        // Without hooks, one statement writes one row. It is undone on its own if it fails.
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
        if case .upsert(let plan) = verb { return try upsert(&record, by: plan, in: table, with: lent) }
        if isInsert {
            try self.insert(&record, in: table, with: lent)
        } else {
            try update(&record, from: readVersion, only: changed, in: table)
        }
        return true
    }

    /// Returns the row that rules must not treat as another row.
    private func rowID<Record>(
        of record: Record, by verb: SaveVerb, in table: Table<Record>
    ) throws -> Int64? {
        guard case .upsert(let plan) = verb else { return verb.inserts(record.objectId) ? nil : record.objectId }
        guard table.saving.hasUniqueRules else { return nil }
        return try connection.withStatement(plan.findSQL) { statement in
            try table.bind(record, columns: plan.key, to: statement)
            guard try statement.step() else { return nil }
            return try table.record(from: statement).objectId
        }
    }
}

extension SaveVerb {
    /// Returns the statement that most records need.
    func sql(of statements: RecordStatements) -> String {
        if case .upsert(let plan) = self { plan.sql } else { statements.insert }
    }

    /// Returns whether a record becomes a new row; for an upsert, whether it may become one.
    fileprivate func inserts(_ objectId: Int64?) -> Bool {
        switch self {
        case .save, .changes: objectId == nil
        case .insert, .upsert: true
        }
    }

    /// Whether a time of creation that is already set is kept. This is the case for rows from another source.
    fileprivate var keepsCreated: Bool {
        if case .insert = self { true } else { false }
    }
}
