extension ActiveRecord {
    /// Inserts the record if it has no `objectId` yet and gives it one, else updates its row.
    ///
    /// Throws `notFound` if the row is gone, `stale` if it is of another version, `invalid` if rules are broken,
    /// `notUnique` and its like if a constraint of the table is. Then the table and the record are as they were.
    ///
    /// The record is a value: if the transaction fails later, whoever kept a copy keeps an `objectId` without a row.
    /// Return records from `write` rather than keeping them.
    public mutating func save(in transaction: Transaction) throws {
        let table = try transaction.table(of: Self.self)
        guard table.saving.isPlain else {
            try put(by: .save, in: transaction, table)
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

    /// The same in a transaction of its own.
    public mutating func save(in database: Database? = nil) async throws {
        try await write(to: database) { try $0.save(in: $1) }
    }

    /// Inserts the record as a new row, with the `objectId` that it has, or a new one if it has none: for records that
    /// come from elsewhere. Throws `notUnique` if there is such a row already.
    public mutating func insert(in transaction: Transaction) throws {
        try put(by: .insert, in: transaction, transaction.table(of: Self.self))
    }

    /// The same in a transaction of its own.
    public mutating func insert(in database: Database? = nil) async throws {
        try await write(to: database) { try $0.insert(in: $1) }
    }

    /// The database that the type names.
    public static func database() throws -> Database {
        try OpenDatabases.named(databaseName)
    }

    /// Through the pipeline; the record is only changed if all went well.
    @discardableResult
    mutating func put(by verb: SaveVerb, in transaction: Transaction, _ table: Table<Self>) throws -> Bool {
        var record = self
        do {
            let isWritten = try transaction.put(&record, by: verb, in: table)
            self = record
            return isWritten
        } catch {
            throw transaction.connection.explained(error, saving: record)
        }
    }

    /// A verb as a transaction of its own: on a copy, which becomes the record when the transaction is done.
    mutating func write<Result: Sendable>(
        to database: Database?, _ body: @escaping @Sendable (inout Self, Transaction) throws -> Result
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
