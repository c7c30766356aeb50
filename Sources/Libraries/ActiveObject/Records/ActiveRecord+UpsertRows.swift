// Upserts of many records of which only the rows matter, such as bulk imports.

extension ActiveRecord {
    /// Upserts all records, or none if one fails, without reading rows back. The `objectId` of the records is neither
    /// used nor set.
    ///
    /// ```swift
    /// try Device.upsertAll(devices, on: \.app, \.token, updating: .allBut(\.registeredAt), in: transaction)
    /// ```
    ///
    /// This saves reading the rows back, about 5 µs each, if the type has no hooks, rules, version or timestamps.
    /// Otherwise it costs the same as `upsertAll` of an array.
    ///
    /// SQLite rewrites the indexes of every overwritten column, even if the value is the same. Pass only the columns
    /// that change in `columns`.
    ///
    /// - Parameters:
    ///   - records: The records.
    ///   - key: The properties of an ``Index/unique(_:)``, in any order.
    ///   - columns: The columns that are overwritten in existing rows.
    ///   - transaction: The transaction.
    /// - Returns: The number of rows that were inserted or overwritten.
    /// - Throws: The errors of `upsert` for one record, with its ``ActiveObjectError/index``.
    @discardableResult
    public static func upsertAll(
        _ records: [Self], on key: PartialKeyPath<Self>..., updating columns: UpsertColumns<Self> = .all,
        in transaction: Transaction
    ) throws -> Int {
        let table = try transaction.table(of: Self.self)
        return try transaction.upsertRows(records, by: table.upsertPlan(on: key, updating: columns), in: table)
    }

    /// Upserts all records without reading rows back, in a transaction of its own in a database, by default the one
    /// that the type names.
    ///
    /// - Returns: The number of rows that were inserted or overwritten.
    @discardableResult
    public static func upsertAll(
        _ records: [Self], on key: PartialKeyPath<Self>..., updating columns: UpsertColumns<Self> = .all,
        in database: Database? = nil
    ) async throws -> Int {
        let plan = try Tables.table(of: Self.self).upsertPlan(on: key, updating: columns)
        return try await (database ?? Self.database()).write { transaction in
            try transaction.upsertRows(records, by: plan, in: transaction.table(of: Self.self))
        }
    }
}

extension Transaction {
    fileprivate func upsertRows<Record>(
        _ records: [Record], by plan: UpsertPlan, in table: Table<Record>
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
                return try upsertPlain(records, by: plan, in: table, at: &index)
            }
        } catch let error as ActiveObjectError where records.indices.contains(index) {
            throw connection.explained(error.at(index), saving: records[index], at: index)
        }
    }

    /// Upserts directly from the memory of the records. No code of the caller runs here.
    private func upsertPlain<Record>(
        _ records: [Record], by plan: UpsertPlan, in table: Table<Record>, at index: inout Int
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
