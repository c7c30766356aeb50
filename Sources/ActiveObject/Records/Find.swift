extension ActiveRecord {
    /// The record with this key; nil if there is none.
    public static func find(_ objectId: Int64, in snapshot: Snapshot) throws -> Self? {
        let table = try snapshot.table(of: Self.self)
        return try snapshot.connection.withStatement(table.findSQL) { statement in
            try table.bindKey(objectId, to: statement, at: 1)
            return try statement.step() ? try table.record(statement) : nil
        }
    }

    /// The same, of the state of now.
    public static func find(_ objectId: Int64, in database: Database? = nil) async throws -> Self? {
        try await (database ?? self.database()).readOnce { try find(objectId, in: $0) }
    }

    /// Every record, in the order of their keys.
    public static func findAll(in snapshot: Snapshot) throws -> [Self] {
        let table = try snapshot.table(of: Self.self)
        let sql =
            "SELECT \(table.columnList) FROM \(table.name.quotedName) ORDER BY \(table.fields[0].column.quotedName)"
        return try snapshot.connection.withStatement(sql) { try table.records($0) }
    }

    /// The same, of the state of now.
    public static func findAll(in database: Database? = nil) async throws -> [Self] {
        try await (database ?? self.database()).readOnce { try findAll(in: $0) }
    }
}
