extension ActiveRecord {
    /// Returns the record with this key; nil if there is none.
    public static func find(_ objectId: Int64, in snapshot: Snapshot) throws -> Self? {
        let table = try snapshot.table(of: Self.self)
        return try snapshot.connection.withStatement(table.findSQL) { statement in
            try table.bindKey(objectId, to: statement, at: 1)
            return try statement.step() ? try table.record(from: statement) : nil
        }
    }

    /// Returns the record with this key from a database, by default the one that the type names; nil if there is none.
    public static func find(_ objectId: Int64, in database: Database? = nil) async throws -> Self? {
        try await (database ?? self.database()).readOnce { try find(objectId, in: $0) }
    }

    /// Returns all records, sorted by their keys.
    public static func findAll(in snapshot: Snapshot) throws -> [Self] {
        let table = try snapshot.table(of: Self.self)
        let sql =
            "SELECT \(table.columnList) FROM \(table.name.quotedName) ORDER BY \(table.fields[0].column.quotedName)"
        return try snapshot.connection.withStatement(sql) { try table.records(from: $0) }
    }

    /// Returns all records, sorted by their keys, from a database, by default the one that the type names.
    public static func findAll(in database: Database? = nil) async throws -> [Self] {
        try await (database ?? self.database()).readOnce { try findAll(in: $0) }
    }
}
