extension ActiveRecord {
    /// What each committed transaction changes in the table of this type, from now on.
    ///
    /// ```swift
    /// for await change in Person.changes(in: database) {
    ///     people = try await Person.findAll(in: database)
    /// }
    /// ```
    ///
    /// Every change that goes through `database` is seen: `save`, `remove`, raw SQL, and what foreign keys and triggers
    /// do in their wake; nothing of what is rolled back is. A transaction that runs when this is called is seen too; since
    /// its beginning was not, its change set is not complete. Neither is that of a migration that drops the table or makes
    /// it anew. What other programs change in the file is not seen: see `Database.outsideVersion`.
    ///
    /// A transaction that changes more than 100,000 rows gives a change set that is not complete.
    ///
    /// - Parameter limit: how many change sets wait for an observer that is slow; with them, at most 100,000 keys. When
    ///   there would be more, all that wait become one that is not complete (`isComplete`).
    public static func changes(in database: Database, buffering limit: Int = 64) -> Changes<ChangeSet> {
        database.feed.changes(ofTable: tableName, buffering: limit)
    }

    /// The same, in the database that the type names. Throws `notOpen` if there is none.
    public static func changes(buffering limit: Int = 64) throws -> Changes<ChangeSet> {
        changes(in: try database(), buffering: limit)
    }
}

extension Database {
    /// What each committed transaction changes, in all tables, from now on. All that `ActiveRecord.changes(in:)` says
    /// holds.
    public func changes(buffering limit: Int = 64) -> Changes<DatabaseChanges> {
        feed.changes(buffering: limit)
    }

    /// A number that is another one when another program has committed something since it was last asked for. What this
    /// database writes itself does not change it. It says no more than that, and costs no reading of the file: who shares
    /// a file with other programs asks for it from time to time.
    public func outsideVersion() async throws -> Int64 {
        try await inspect { connection in
            try connection.withStatement("PRAGMA data_version") { statement in
                guard try statement.step() else { return 0 }
                return try statement.integer(0)
            }
        }
    }
}
