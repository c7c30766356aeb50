extension ActiveRecord {
    /// Inserts the record if it has no `objectId`, and sets it; otherwise updates its row. If it throws, the table and
    /// the record are unchanged.
    ///
    /// The record is a value: if the transaction fails later, a copy of the record keeps an `objectId` without a row.
    /// Return records from ``Database/write(_:)`` instead of keeping copies.
    ///
    /// - Throws: ``ActiveObjectError``: `notFound` if the row does not exist, `stale` if it has another version,
    ///   `invalid` if the record breaks rules, or `notUnique`, `missingValue`, `brokenReference` or `checkFailed` if it
    ///   violates a constraint of the table.
    public mutating func save(in transaction: Transaction) throws {
        let table = try transaction.table(of: Self.self)
        guard table.saving.isPlain else {
            try put(by: .save, in: transaction, table: table)
            return
        }
        do {
            try unsafe withUnsafeMutableBytes(of: &self) { record in
                guard let record = record.baseAddress else { return }
                try unsafe transaction.savePlain(record, in: table)
            }
        } catch {
            throw transaction.connection.explained(error, saving: self)
        }
    }

    /// Saves the record in a transaction of its own in a database, by default the one that the type names.
    public mutating func save(in database: Database? = nil) async throws {
        try await write(to: database) { try $0.save(in: $1) }
    }

    /// Inserts the record as a new row with its `objectId`, or with a new one if it has none. Use it for records from
    /// another source.
    ///
    /// - Throws: ``ActiveObjectError``: `notUnique` if a row with this key exists, and the errors of `save`.
    public mutating func insert(in transaction: Transaction) throws {
        try put(by: .insert, in: transaction, table: transaction.table(of: Self.self))
    }

    /// Inserts the record in a transaction of its own in a database, by default the one that the type names.
    public mutating func insert(in database: Database? = nil) async throws {
        try await write(to: database) { try $0.insert(in: $1) }
    }

    /// Returns the open database that the type names; see ``databaseName``.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/notOpen`` if it is not open.
    public static func database() throws -> Database {
        try OpenDatabases.named(databaseName)
    }

    /// Saves with all hooks and rules. The record is only changed if everything succeeds.
    @discardableResult
    mutating func put(by verb: SaveVerb, in transaction: Transaction, table: Table<Self>) throws -> Bool {
        var record = self
        do {
            let isWritten = try transaction.put(&record, by: verb, in: table)
            self = record
            return isWritten
        } catch {
            throw transaction.connection.explained(error, saving: record)
        }
    }

    /// Runs an operation on a copy, in a transaction of its own. The copy becomes the record when the transaction is
    /// committed.
    mutating func write<Result: Sendable>(
        to database: Database?, body: @escaping @Sendable (inout Self, Transaction) throws -> Result
    ) async throws -> Result {
        let record = self
        let done = try await (database ?? Self.database()).write { transaction in
            var record = record
            let result = try body(&record, transaction)
            return (record, result)
        }
        self = done.0
        return done.1
    }
}
