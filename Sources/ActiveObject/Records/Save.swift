extension ActiveRecord {
    /// Inserts the record if it has no `objectId` yet and gives it one, else updates its row.
    ///
    /// Throws `notFound` if the row is gone, `notUnique` and its like if a constraint is broken.
    public mutating func save(in transaction: Transaction) throws {
        let table = try transaction.table(of: Self.self)
        try unsafe withUnsafeMutableBytes(of: &self) { record in
            guard let record = record.baseAddress else { return }
            try unsafe transaction.save(record, in: table)
        }
    }

    /// The same in a transaction of its own.
    public mutating func save(in database: Database? = nil) async throws {
        let record = self
        self = try await (database ?? Self.database()).write { transaction in
            var record = record
            try record.save(in: transaction)
            return record
        }
    }

    /// The database that the type names.
    public static func database() throws -> Database {
        try OpenDatabases.named(databaseName)
    }
}

extension Array where Element: ActiveRecord {
    /// Saves all of them, as `save` does each, with one statement for all that are new.
    public mutating func saveAll(in transaction: Transaction) throws {
        let table = try transaction.table(of: Element.self)
        try unsafe withUnsafeMutableBytes { records in
            guard var record = records.baseAddress else { return }
            let end = unsafe record + records.count
            let connection = transaction.connection
            let insert = try connection.take(table.insertSQL)
            defer { connection.giveBack(insert) }
            while unsafe record < end {
                if unsafe (record + table.idOffset).assumingMemoryBound(to: Int64?.self).pointee == nil {
                    try unsafe transaction.insert(record, in: table, with: insert)
                } else {
                    try unsafe transaction.save(record, in: table)
                }
                unsafe record += MemoryLayout<Element>.stride
            }
        }
    }

    /// The same in a transaction of its own.
    public mutating func saveAll(in database: Database? = nil) async throws {
        let records = self
        self = try await (database ?? Element.database()).write { transaction in
            var records = records
            try records.saveAll(in: transaction)
            return records
        }
    }
}

extension Transaction {
    func save<Record>(_ record: UnsafeMutableRawPointer, in table: Table<Record>) throws {
        guard let id = unsafe (record + table.idOffset).assumingMemoryBound(to: Int64?.self).pointee else {
            return try connection.withStatement(table.insertSQL) {
                try unsafe insert(record, in: table, with: $0)
            }
        }
        try connection.withStatement(table.updateSQL) { statement in
            try unsafe table.bind(UnsafeRawPointer(record), to: statement)
            try statement.bind(id, at: Int32(table.fields.count))
            try statement.run()
        }
        if connection.changes == 0 {
            throw ActiveObjectError(
                .notFound, "\(table.name) has no row \(id) to update: it was removed", table: table.name)
        }
    }

    @inline(__always)
    func insert<Record>(
        _ record: UnsafeMutableRawPointer, in table: Table<Record>, with statement: Statement
    ) throws(ActiveObjectError) {
        try unsafe table.bind(UnsafeRawPointer(record), to: statement)
        try statement.run()
        unsafe (record + table.idOffset).assumingMemoryBound(to: Int64?.self).pointee = connection.lastInsertedID
    }
}
