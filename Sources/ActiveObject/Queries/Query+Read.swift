extension Query {
    /// All the records, in the order of the query.
    public func all(in snapshot: Snapshot) throws -> [Record] {
        let table = try snapshot.table(of: Record.self)
        let text = try select(table.columnList, in: table, ordered: true)
        return try snapshot.withStatement(text, of: table.name) { try table.records($0) }
    }

    public func all(in database: Database? = nil) async throws -> [Record] {
        try await (database ?? Record.database()).readOnce { try all(in: $0) }
    }

    /// The first one in the order of the query; nil if there is none.
    public func first(in snapshot: Snapshot) throws -> Record? {
        let table = try snapshot.table(of: Record.self)
        let text = try select(table.columnList, in: table, ordered: true, limit: 1)
        return try snapshot.withStatement(text, of: table.name) { statement in
            try statement.step() ? try table.record(statement) : nil
        }
    }

    public func first(in database: Database? = nil) async throws -> Record? {
        try await (database ?? Record.database()).readOnce { try first(in: $0) }
    }

    /// Whether there is one at all.
    public func exists(in snapshot: Snapshot) throws -> Bool {
        let table = try snapshot.table(of: Record.self)
        let text = try select("1", in: table, ordered: false, limit: 1)
        return try snapshot.withStatement(text, of: table.name) { try $0.step() }
    }

    public func exists(in database: Database? = nil) async throws -> Bool {
        try await (database ?? Record.database()).readOnce { try exists(in: $0) }
    }

    /// Hands over one record after the other, from one statement, as the snapshot has them. One is in memory at a time,
    /// unless SQLite has to sort: an index in the query's order spares it that.
    ///
    /// What `body` throws ends it. Whether rows that `body` itself adds or changes are met, SQLite leaves open.
    public func forEach(in snapshot: Snapshot, _ body: (Record) throws -> Void) throws {
        let table = try snapshot.table(of: Record.self)
        let text = try select(table.columnList, in: table, ordered: true)
        try snapshot.withStatement(text, of: table.name) { statement in
            while try statement.step() { try body(table.record(statement)) }
        }
    }
}
