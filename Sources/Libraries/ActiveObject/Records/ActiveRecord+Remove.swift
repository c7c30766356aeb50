extension ActiveRecord {
    /// Removes the record's row. The record remains, without its `objectId`; saving it again creates a new row.
    ///
    /// SQLite removes rows that depend on it by the rule of a ``Reference``; their hooks are not called. If it throws,
    /// the table and the record are unchanged.
    ///
    /// - Returns: False if the row was already gone or the record was never saved.
    /// - Throws: ``ActiveObjectError``: `stale` if the row has another version, `brokenReference` if other rows refer
    ///   to it.
    @discardableResult
    public mutating func remove(in transaction: Transaction) throws -> Bool {
        let table = try transaction.table(of: Self.self)
        do {
            let isRemoved = try transaction.take(self, from: table)
            objectId = nil
            return isRemoved
        } catch {
            throw transaction.connection.explained(error, removing: objectId, from: table.name)
        }
    }

    /// Removes the record's row in a transaction of its own in a database, by default the one that the type names.
    ///
    /// - Returns: False if the row was already gone or the record was never saved.
    @discardableResult
    public mutating func remove(in database: Database? = nil) async throws -> Bool {
        try await write(to: database) { try $0.remove(in: $1) }
    }
}

extension Array where Element: ActiveRecord {
    /// Removes the rows of all records in the array, or none if one fails. The records remain in the array, without
    /// their `objectId`.
    ///
    /// - Returns: The number of removed rows.
    /// - Throws: The errors of `remove` for one record, with its ``ActiveObjectError/index``.
    @discardableResult
    public mutating func removeAll(in transaction: Transaction) throws -> Int {
        let table = try transaction.table(of: Element.self)
        var count = 0
        try transaction.savepoint {
            for index in indices {
                do {
                    if try transaction.take(self[index], from: table) { count += 1 }
                } catch let error as ActiveObjectError {
                    let explained = transaction.connection.explained(
                        error, removing: self[index].objectId, from: table.name)
                    throw (explained as? ActiveObjectError ?? error).at(index)
                }
            }
        }
        for index in indices { self[index].objectId = nil }
        return count
    }

    /// Removes the rows of all records in the array in a transaction of its own. The database has no default, because
    /// `removeAll()` empties an array.
    ///
    /// - Returns: The number of removed rows.
    @discardableResult
    public mutating func removeAll(in database: Database) async throws -> Int {
        try await write(to: database) { try $0.removeAll(in: $1) }
    }
}

extension Transaction {
    /// Removes a row and calls the hooks of the type, whose changes are undone if one fails.
    fileprivate func take<Record>(_ record: Record, from table: Table<Record>) throws -> Bool {
        let absent = table.saving.absentHooks
        if record.objectId == nil || absent.contain(.ofRemoving) { return try remove(record, in: table) }
        return try savepoint {
            if !absent.contain(.willRemove) { try record.willRemove(in: self) }
            guard try remove(record, in: table) else { return false }
            if !absent.contain(.didRemove) { try record.didRemove(in: self) }
            return true
        }
    }
}
