/// Where the tables of a file are rooted: a table that is dropped, or made anew under the same name, is told by it.
///
/// What a migration does to a table as a whole is no change of rows, or looks like the removal of them all.
struct TableRoots {
    private var version: Int64 = -1
    private var pages: [String: Int64] = [:]

    /// To be called when a transaction begins: others may have changed the tables since.
    mutating func begin(on connection: Connection) throws {
        let now = try connection.integer("PRAGMA schema_version")
        guard now != version else { return }
        pages = try Self.pages(on: connection)
        version = now
    }

    /// What can be said of `changes` if the transaction has also changed tables. A table that is new is like any other.
    mutating func committed(
        _ changes: [String: ChangeSet], on connection: Connection
    ) throws -> [String: ChangeSet] {
        let before = pages
        let versionBefore = version
        try begin(on: connection)
        guard version != versionBefore else { return changes }
        // Tables that came and went in between are nobody's.
        var changes = changes.filter { before[$0.key] != nil || pages[$0.key] != nil }
        for (name, page) in before where pages[name] != page { changes[name] = .unknown }
        return changes
    }

    private static func pages(on connection: Connection) throws -> [String: Int64] {
        try connection.withStatement("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table'") { statement in
            var pages: [String: Int64] = [:]
            while try statement.step() { pages[try statement.text(0)] = try statement.integer(1) }
            return pages
        }
    }
}

extension Connection {
    /// The one number that a statement gives.
    fileprivate func integer(_ sql: String) throws -> Int64 {
        try withStatement(sql) { statement in
            guard try statement.step() else { return 0 }
            return try statement.integer(0)
        }
    }
}
