extension ActiveRecord {
    /// Returns the changes of each committed transaction in the table of this type, from now on.
    ///
    /// ```swift
    /// for await change in Person.changes(in: database) {
    ///     people = try await Person.findAll(in: database)
    /// }
    /// ```
    ///
    /// The sequence contains every change that is made through `database`: by `save` and `remove`, by raw SQL, and by
    /// foreign keys and triggers as their consequence. It does not contain changes that are rolled back, and changes by
    /// other programs; for those see ``Database/outsideVersion()``.
    ///
    /// A change set is not complete (``ChangeSet/isComplete``) for a transaction that is already running when this is
    /// called, for a transaction that drops or recreates the table, and for a transaction with more than 100,000
    /// changed rows.
    ///
    /// - Parameters:
    ///   - database: The database to observe.
    ///   - limit: The number of change sets that wait for a slow observer; together they hold at most 100,000 keys.
    ///     When a limit is exceeded, all that wait become one that is not complete.
    /// - Returns: A sequence that starts now and ends when the database is closed.
    public static func changes(in database: Database, buffering limit: Int = 64) -> Changes<ChangeSet> {
        database.feed.changes(ofTable: tableName, buffering: limit)
    }

    /// Returns the changes of each committed transaction in the table of this type, in the open database that the type
    /// names; see ``changes(in:buffering:)``.
    ///
    /// - Parameter limit: The number of change sets that wait for a slow observer.
    /// - Returns: A sequence that starts now and ends when the database is closed.
    /// - Throws: ``ActiveObjectError/Code-swift.struct/notOpen`` if that database is not open.
    public static func changes(buffering limit: Int = 64) throws -> Changes<ChangeSet> {
        changes(in: try database(), buffering: limit)
    }
}

extension Database {
    /// Returns the changes of each committed transaction in all tables, from now on. The rules are those of
    /// ``ActiveRecord/changes(in:buffering:)``.
    ///
    /// - Parameter limit: The number of elements that wait for a slow observer.
    /// - Returns: A sequence that starts now and ends when the database is closed.
    public func changes(buffering limit: Int = 64) -> Changes<DatabaseChanges> {
        feed.changes(buffering: limit)
    }

    /// Returns a number that changes when another program has committed to the file since the last call. Commits of
    /// this database do not change it.
    ///
    /// The call does not read the file. A caller that shares a file with other programs can poll it, and read again
    /// when the number has changed.
    ///
    /// - Returns: A number that is only meaningful in comparison with an earlier one of the same database.
    /// - Throws: ``ActiveObjectError`` if the database is closed or the file cannot be accessed.
    public func outsideVersion() async throws -> Int64 {
        try await inspect { connection in
            try connection.withStatement("PRAGMA data_version") { statement in
                guard try statement.step() else { return 0 }
                return try statement.integer(0)
            }
        }
    }
}
