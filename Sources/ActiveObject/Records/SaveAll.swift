// All or none. If one fails, the error says which, by its `index`, and the table and the array are as they were. An
// error of a hook's own comes as it is.

extension Array where Element: ActiveRecord {
    /// Saves all of them, as `save` does each, with one statement for all that are new.
    public mutating func saveAll(in transaction: Transaction) throws {
        let table = try transaction.table(of: Element.self)
        guard table.saving.isPlain else { return try putAll(by: .save, in: transaction, table) }
        do {
            try transaction.savepoint {
                try unsafe withUnsafeMutableBytes { try unsafe transaction.saveAllPlain($0, in: table) }
            }
        } catch let error as ActiveObjectError {
            guard let index = error.index else { throw error }
            throw transaction.connection.explained(error, saving: self[index], at: index)
        }
    }

    /// The same in a transaction of its own.
    public mutating func saveAll(in database: Database? = nil) async throws {
        try await write(to: database) { try $0.saveAll(in: $1) }
    }

    /// Inserts all of them, as `insert` does each.
    public mutating func insertAll(in transaction: Transaction) throws {
        try putAll(by: .insert, in: transaction, transaction.table(of: Element.self))
    }

    public mutating func insertAll(in database: Database? = nil) async throws {
        try await write(to: database) { try $0.insertAll(in: $1) }
    }

    mutating func putAll(
        by verb: SaveVerb, in transaction: Transaction, _ table: Table<Element>
    ) throws {
        var records = self
        try transaction.savepoint {
            let plan = table.saving
            // A hook may save other records of the type, with the same statement.
            let lent = try plan.hooks == nil ? transaction.connection.take(verb.sql(of: plan.statements)) : nil
            defer { if let lent { transaction.connection.giveBack(lent) } }
            for index in records.indices {
                do {
                    try transaction.put(&records[index], by: verb, in: table, with: lent)
                } catch let error as ActiveObjectError {
                    throw transaction.connection.explained(error.at(index), saving: records[index], at: index)
                }
            }
        }
        self = records
    }

    mutating func write<Result: Sendable>(
        to database: Database?, _ body: @escaping @Sendable (inout Self, Transaction) throws -> Result
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
