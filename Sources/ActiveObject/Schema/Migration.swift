/// A change of the file that the types cannot tell by themselves: a new name, another type, rows that must be changed.
///
/// New properties and indexes need none; see `ActiveRecord`. Each runs once for a file, when the database is opened, in
/// the order of the list, in a transaction of its own. That it ran is kept in the file.
///
/// ```swift
/// var options = Database.Options()
/// options.migrations = [
///     Migration("rename-rank") { try $0.renameColumn(of: "persons", from: "rank", to: "grade") },
///     Migration("age-as-text") { try $0.rebuildTable(of: Person.self) },
/// ]
/// ```
///
/// The list only grows, at its end. Foreign keys are not enforced while a migration runs, so that tables can be taken
/// apart; they are checked before it is kept.
public struct Migration: Sendable {
    public let name: String
    let runsInNewFile: Bool
    let body: @Sendable (Transaction) throws -> Void

    /// - Parameters:
    ///   - name: never changed again, and of this migration only.
    ///   - inNewFile: whether it also runs in a file that has no tables yet. Those are made from the types as they are
    ///     now, so there is nothing to rename; rows that must be there from the start are a reason.
    ///   - body: must not assume that a table is there: one whose type was never used has none.
    public init(_ name: String, inNewFile: Bool = false, _ body: @escaping @Sendable (Transaction) throws -> Void) {
        self.name = name
        runsInNewFile = inNewFile
        self.body = body
    }
}

extension Connection {
    private static var migrationTable: String { "active_object_migrations" }

    /// Runs what has not run in this file yet. Another process may be at it too: who has the lock looks again.
    func migrate(_ migrations: [Migration]) throws {
        var names: Set<String> = []
        for migration in migrations where migration.name.isEmpty || !names.insert(migration.name).inserted {
            throw ActiveObjectError(
                .badMigration,
                "there are two migrations named \"\(migration.name)\", or it is no name: rename the new one")
        }
        if isReadOnly {
            // Who opens it so and names none has only said that he will look.
            guard try !migrations.isEmpty && pending(of: migrations) > 0 else { return }
            throw ActiveObjectError(
                .badMigration,
                "\(migrations.count) migrations are to run, and the database is open for reading only: open it for writing once"
            )
        }
        guard try pending(of: migrations) > 0 else { return }
        try control("PRAGMA foreign_keys = 0")
        while try runNext(of: migrations) {}
        // If anything failed nobody gets the connection.
        try control("PRAGMA foreign_keys = 1")
    }

    /// How many are still to run. Those that ran must be the first of the list.
    private func pending(of migrations: [Migration]) throws -> Int {
        let isThere = try !rows("SELECT 1 FROM sqlite_schema WHERE name = ?1", [.text(Self.migrationTable)]) { _ in }
            .isEmpty
        guard isThere else { return migrations.count }
        let done = try rows("SELECT name FROM \(Self.migrationTable) ORDER BY position") { row in
            if case .text(let name) = row[0] { name } else { "" }
        }
        if isReadOnly, migrations.isEmpty { return 0 }
        let names = migrations.map(\.name)
        for (place, name) in done.enumerated() where place >= names.count || names[place] != name {
            throw Self.mismatch(name, place: place, done: done, names: names)
        }
        return names.count - done.count
    }

    private static func mismatch(_ name: String, place: Int, done: [String], names: [String]) -> ActiveObjectError {
        let what =
            if place >= names.count {
                """
                the file has had the migration \"\(name)\", which is not in the list: it was made by a newer program, \
                or the migration was taken out. Use the newer program, or put it back
                """
            } else if names.contains(name) {
                """
                the migrations are in another order than they ran in this file: \"\(name)\" was number \(place + 1), \
                where the list has \"\(names[place])\". Restore the order, and put new ones at the end
                """
            } else {
                """
                the file has had the migration \"\(name)\" as number \(place + 1), where the list has \
                \"\(names[place])\": put it back under that name, and new ones at the end
                """
            }
        return ActiveObjectError(.badMigration, what)
    }

    /// False: there was none left.
    private func runNext(of migrations: [Migration]) throws -> Bool {
        // What is known of tables in here does not outlive it: the next one may change them again.
        try Transaction.run(on: self, schema: SchemaState()) { transaction in
            let left = try pending(of: migrations)
            guard left > 0 else { return false }
            let isNew = try rows("SELECT 1 FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'") { _ in }
                .isEmpty
            try run(
                """
                CREATE TABLE IF NOT EXISTS \(Self.migrationTable) \
                (position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, time TEXT NOT NULL) STRICT
                """)
            // A new file has them all in one transaction: nobody else finds it half made and takes it for an old one.
            for migration in migrations.suffix(left).prefix(isNew ? left : 1) {
                if !isNew || migration.runsInNewFile { try run(migration, in: transaction) }
                _ = try rows(
                    """
                    INSERT INTO \(Self.migrationTable) (name, time) \
                    VALUES (?1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) RETURNING position
                    """, [.text(migration.name)]
                ) { _ in }
            }
            return true
        }
    }

    private func run(_ migration: Migration, in transaction: Transaction) throws {
        func failure(_ said: String, _ error: ActiveObjectError? = nil) -> ActiveObjectError {
            ActiveObjectError(
                .badMigration, "the migration \"\(migration.name)\" failed, and nothing of it was kept: \(said)",
                table: error?.table, column: error?.column, resultCode: error?.resultCode)
        }
        do {
            try migration.body(transaction)
        } catch let error as ActiveObjectError {
            throw failure(error.message, error)
        } catch {
            throw failure("\(error)")
        }
        guard isInTransaction else { throw failure("it ended the transaction that it runs in") }
        let broken = try rows("SELECT \"table\", parent FROM pragma_foreign_key_check LIMIT 1") { $0 }
        if case .text(let table) = broken.first?[0], case .text(let target) = broken.first?[1] {
            throw failure("a row of \(table) refers to a row of \(target) that is not there")
        }
    }
}
