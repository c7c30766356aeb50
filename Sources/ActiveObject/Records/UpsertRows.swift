// For many records of which only the rows matter: what comes in bulk, and is not looked at again.

extension ActiveRecord {
    /// Upserts all of them, as `upsert` does each, and reads nothing back: `records` are not asked for, and not given,
    /// their `objectId`. All or none. If one fails, the error says which.
    ///
    /// ```swift
    /// try Device.upsertAll(devices, on: \.app, \.token, updating: .allBut(\.registeredAt), in: transaction)
    /// ```
    ///
    /// It spares reading the rows back, some 5 us each, if the type has neither hooks nor rules, versions and timestamps;
    /// with them it costs what `upsertAll` of the array does.
    ///
    /// A column that is overwritten has its indexes written anew, also with the value that it had: name in `updating`
    /// only what changes.
    ///
    /// - Returns: how many rows were inserted or overwritten.
    @discardableResult
    public static func upsertAll(
        _ records: [Self], on key: PartialKeyPath<Self>..., updating columns: UpsertColumns<Self> = .all,
        in transaction: Transaction
    ) throws -> Int {
        let table = try transaction.table(of: Self.self)
        return try transaction.upsertRows(records, table.upsertPlan(key, columns), in: table)
    }

    /// The same in a transaction of its own.
    @discardableResult
    public static func upsertAll(
        _ records: [Self], on key: PartialKeyPath<Self>..., updating columns: UpsertColumns<Self> = .all,
        in database: Database? = nil
    ) async throws -> Int {
        let plan = try Tables.table(of: Self.self).upsertPlan(key, columns)
        return try await (database ?? Self.database()).write { transaction in
            try transaction.upsertRows(records, plan, in: transaction.table(of: Self.self))
        }
    }
}

extension Transaction {
    fileprivate func upsertRows<Record>(
        _ records: [Record], _ plan: UpsertPlan, in table: Table<Record>
    ) throws -> Int {
        var index = 0
        do {
            return try savepoint {
                guard table.saving.isPlain else {
                    var count = 0
                    while index < records.count {
                        var record = records[index]
                        if try put(&record, by: .upsert(plan), in: table) { count += 1 }
                        index += 1
                    }
                    return count
                }
                return try upsertPlain(records, plan, in: table, at: &index)
            }
        } catch let error as ActiveObjectError where records.indices.contains(index) {
            throw connection.explained(error.at(index), saving: records[index], at: index)
        }
    }

    /// Straight from the memory of the records. No code of the caller runs here.
    private func upsertPlain<Record>(
        _ records: [Record], _ plan: UpsertPlan, in table: Table<Record>, at index: inout Int
    ) throws -> Int {
        let statement = try connection.take(plan.silentSQL)
        defer { connection.giveBack(statement) }
        let first = plan.columns.first ?? 0
        return try unsafe records.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return 0 }
            var count = 0
            while index < records.count {
                let record = unsafe start + index * MemoryLayout<Record>.stride
                try unsafe table.bind(record, from: first, to: statement)
                try statement.run()
                count += connection.changes
                index += 1
            }
            return count
        }
    }
}
