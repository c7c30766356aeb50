extension Query {
    /// Returns all records in the order of the query.
    public func all(in snapshot: Snapshot) throws -> [Record] {
        let table = try snapshot.table(of: Record.self)
        let text = try select(table.columnList, in: table, ordered: true)
        return try snapshot.withStatement(text, of: table.name) { try table.records(from: $0) }
    }

    /// Returns all records in the order of the query, from a database, by default the one that the type names.
    public func all(in database: Database? = nil) async throws -> [Record] {
        try await (database ?? Record.database()).readOnce { try all(in: $0) }
    }

    /// Returns the first record in the order of the query; nil if there is none.
    public func first(in snapshot: Snapshot) throws -> Record? {
        let table = try snapshot.table(of: Record.self)
        let text = try select(table.columnList, in: table, ordered: true, limit: 1)
        return try snapshot.withStatement(text, of: table.name) { statement in
            try statement.step() ? try table.record(from: statement) : nil
        }
    }

    /// Returns the first record in the order of the query, from a database, by default the one that the type names.
    public func first(in database: Database? = nil) async throws -> Record? {
        try await (database ?? Record.database()).readOnce { try first(in: $0) }
    }

    /// Returns whether there is at least one record.
    public func exists(in snapshot: Snapshot) throws -> Bool {
        let table = try snapshot.table(of: Record.self)
        let text = try select("1", in: table, ordered: false, limit: 1)
        return try snapshot.withStatement(text, of: table.name) { try $0.step() }
    }

    /// Returns whether there is at least one record in a database, by default the one that the type names.
    public func exists(in database: Database? = nil) async throws -> Bool {
        try await (database ?? Record.database()).readOnce { try exists(in: $0) }
    }

    /// Calls `body` with each record in the order of the query, with a single statement. Only one record is in memory
    /// at a time, unless SQLite must sort; an index on the query's order avoids that.
    ///
    /// An error of `body` ends the loop. If `body` itself adds or changes rows, it is undefined whether the loop visits
    /// them.
    ///
    /// - Parameters:
    ///   - snapshot: The state of the database to read.
    ///   - body: Receives each record.
    public func forEach(in snapshot: Snapshot, body: (Record) throws -> Void) throws {
        let table = try snapshot.table(of: Record.self)
        let text = try select(table.columnList, in: table, ordered: true)
        try snapshot.withStatement(text, of: table.name) { statement in
            while try statement.step() { try body(table.record(from: statement)) }
        }
    }
}
