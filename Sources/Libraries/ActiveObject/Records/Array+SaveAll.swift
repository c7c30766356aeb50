// All records are saved, or none. If one fails, the `index` of the error names it, and the table and the array are
// unchanged. An error that a hook throws is passed on unchanged.

extension Array where Element: ActiveRecord {
    /// Saves all records as `save` does, or none if one fails. One statement is used for all new records.
    ///
    /// - Throws: The errors of `save` for one record, with its ``ActiveObjectError/index``.
    public mutating func saveAll(in transaction: Transaction) throws {
        let table = try transaction.table(of: Element.self)
        guard table.saving.isPlain else { return try putAll(by: .save, in: transaction, table: table) }
        try transaction.savepoint { try savePlain(from: 0, in: transaction, table: table) }
    }

    /// Saves all records in a transaction of its own in a database, by default the one that the type names.
    public mutating func saveAll(in database: Database? = nil) async throws {
        try await write(to: database) { try $0.saveAll(in: $1) }
    }

    /// Inserts all records as `insert` does, or none if one fails.
    ///
    /// - Throws: The errors of `insert` for one record, with its ``ActiveObjectError/index``.
    public mutating func insertAll(in transaction: Transaction) throws {
        try putAll(by: .insert, in: transaction, table: transaction.table(of: Element.self))
    }

    /// Inserts all records in a transaction of its own in a database, by default the one that the type names.
    public mutating func insertAll(in database: Database? = nil) async throws {
        try await write(to: database) { try $0.insertAll(in: $1) }
    }

    mutating func putAll(
        by verb: SaveVerb, in transaction: Transaction, table: Table<Element>
    ) throws {
        var records = self
        try transaction.savepoint {
            let plan = table.saving
            var lent: Statement?
            defer { if let lent { transaction.connection.giveBack(lent) } }
            for index in records.indices {
                // The first record may have shown that the type has no hooks.
                if case .save = verb, index > 0, plan.isPlain {
                    return try records.savePlain(from: index, in: transaction, table: table)
                }
                // A hook may save other records of the type with the same statement, so it is only taken if there are
                // no hooks.
                if lent == nil, plan.absentHooks.contain(.ofSaving) {
                    lent = try transaction.connection.take(verb.sql(of: plan.statements))
                }
                do {
                    try transaction.put(&records[index], by: verb, in: table, with: lent)
                } catch let error as ActiveObjectError {
                    throw transaction.connection.explained(error.at(index), saving: records[index], at: index)
                }
            }
        }
        self = records
    }

    /// - Parameter first: The index of the first record that is not saved yet.
    private mutating func savePlain(
        from first: Int, in transaction: Transaction, table: Table<Element>
    ) throws {
        do {
            try unsafe withUnsafeMutableBytes { try unsafe transaction.saveAllPlain($0, from: first, in: table) }
        } catch let error as ActiveObjectError {
            guard let index = error.index else { throw error }
            throw transaction.connection.explained(error, saving: self[index], at: index)
        }
    }

    mutating func write<Result: Sendable>(
        to database: Database?, body: @escaping @Sendable (inout Self, Transaction) throws -> Result
    ) async throws -> Result {
        let records = self
        let done = try await (database ?? Element.database()).write { transaction in
            var records = records
            let result = try body(&records, transaction)
            return (records, result)
        }
        self = done.0
        return done.1
    }
}
