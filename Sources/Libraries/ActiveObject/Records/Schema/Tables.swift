import PushThread

/// The tables of all types that have been used.
enum Tables {
    private static let known = Locked<[ObjectIdentifier: any Sendable]>([:])

    /// Returns the table of a type. Throws each time if the type cannot be a record.
    static func table<Record: ActiveRecord>(of type: Record.Type) throws(ActiveObjectError) -> Table<Record> {
        let key = ObjectIdentifier(type)
        if let table = known.withLock({ $0[key] }) { return table as! Table<Record> }
        // Two threads may create it at the same time. The tables are equal, and the first one is kept.
        let table = try Table<Record>()
        return known.withLock { tables in
            if let first = tables[key] { return first as! Table<Record> }
            tables[key] = table
            return table
        }
    }

    /// Returns the table name of a type and the column of its `objectId`, for callers without the static type.
    static func key(of type: any ActiveRecord.Type) throws(ActiveObjectError) -> (table: String, column: String) {
        func names<Record: ActiveRecord>(of type: Record.Type) throws(ActiveObjectError) -> (String, String) {
            let table = try table(of: type)
            return (table.name, table.fields[0].column)
        }
        return try names(of: type)
    }
}
