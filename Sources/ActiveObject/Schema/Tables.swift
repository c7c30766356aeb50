import PushThread

/// The tables of all types that were used so far.
enum Tables {
    private static let known = Locked<[ObjectIdentifier: any Sendable]>([:])

    /// The table of a type. A type that cannot be a record is told so each time.
    static func table<Record: ActiveRecord>(of type: Record.Type) throws(ActiveObjectError) -> Table<Record> {
        let key = ObjectIdentifier(type)
        if let table = known.withLock({ $0[key] }) { return table as! Table<Record> }
        // Two threads may make it at the same time; the tables are equal, and one stays.
        let table = try Table<Record>()
        return known.withLock { tables in
            if let first = tables[key] { return first as! Table<Record> }
            tables[key] = table
            return table
        }
    }

    /// The table of a type and the column of its `objectId`, for who only knows that it is a record.
    static func key(of type: any ActiveRecord.Type) throws(ActiveObjectError) -> (table: String, column: String) {
        func place<Record: ActiveRecord>(_ type: Record.Type) throws(ActiveObjectError) -> (String, String) {
            let table = try table(of: type)
            return (table.name, table.fields[0].column)
        }
        return try place(type)
    }
}
