/// The root pages of the tables in a file. They show that a table was dropped, or recreated under the same name.
///
/// A migration that replaces a table does not change rows, or seems to remove all of them.
struct TableRoots {
    private var version: Int64 = -1
    private var pages: [String: Int64] = [:]

    /// Must be called when a transaction begins, because others may have changed the tables.
    mutating func begin(on connection: Connection) throws {
        let now = try connection.integer("PRAGMA schema_version")
        guard now != version else { return }
        pages = try Self.pages(on: connection)
        version = now
    }

    /// Returns `changes` with tables that the transaction dropped or recreated marked as unknown. New tables are not
    /// special.
    mutating func committed(
        _ changes: [String: ChangeSet], on connection: Connection
    ) throws -> [String: ChangeSet] {
        let before = pages
        let versionBefore = version
        try begin(on: connection)
        guard version != versionBefore else { return changes }
        // Tables that were created and dropped in the transaction have no observers.
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
    /// Returns the number that a statement returns.
    fileprivate func integer(_ sql: String) throws -> Int64 {
        try withStatement(sql) { statement in
            guard try statement.step() else { return 0 }
            return try statement.integer(0)
        }
    }
}
