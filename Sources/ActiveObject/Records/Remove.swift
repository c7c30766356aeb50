extension ActiveRecord {
    /// Removes the record's row. The record stays, without its `objectId`: saved again, it is a new row.
    ///
    /// Rows that go with it by the rule of a `Reference` are removed by SQLite: hooks of theirs are not called.
    ///
    /// Throws `stale` if the row is of another version, `brokenReference` if others refer to it; then the table and the
    /// record are as they were.
    ///
    /// - Returns: false if the row was gone already, or the record never saved: what was wanted holds, and whoever
    ///   cares can ask.
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

    /// The same in a transaction of its own.
    @discardableResult
    public mutating func remove(in database: Database? = nil) async throws -> Bool {
        try await write(to: database) { try $0.remove(in: $1) }
    }
}

extension Array where Element: ActiveRecord {
    /// Removes the rows of all of them, as `remove` does each; all or none. The records stay in the array, without
    /// their `objectId`.
    ///
    /// - Returns: how many rows there were to remove.
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

    /// The same in a transaction of its own. The database has to be named: `removeAll()` empties an array.
    @discardableResult
    public mutating func removeAll(in database: Database) async throws -> Int {
        try await write(to: database) { try $0.removeAll(in: $1) }
    }
}

extension Transaction {
    /// With the hooks of the type, which are undone with the rest.
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
