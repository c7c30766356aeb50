/// A change of the file that cannot be derived from the types, such as a new name, a new type, or changed rows.
///
/// New properties and indexes need no migration; see ``ActiveRecord``. Each migration runs once per file when the
/// database is opened, in the order of the list, in a transaction of its own. The file records that it ran.
///
/// ```swift
/// var options = Database.Options()
/// options.migrations = [
///     Migration("rename-rank") { try $0.renameColumn(of: "persons", from: "rank", to: "grade") },
///     Migration("age-as-text") { try $0.rebuildTable(of: Person.self) },
/// ]
/// ```
///
/// New migrations are appended to the list, and none is removed. Foreign keys are not enforced while a migration runs,
/// so that tables can be rebuilt; they are checked before it is committed.
public struct Migration: Sendable {
    /// The unique name of the migration.
    public let name: String
    let runsInNewFile: Bool
    let body: @Sendable (Transaction) throws -> Void

    /// Creates a migration.
    ///
    /// - Parameters:
    ///   - name: A unique name, which must never change.
    ///   - inNewFile: Whether the migration also runs in a file without tables. Its tables are created from the current
    ///     types, so there is nothing to rename; use it for rows that must exist from the start.
    ///   - body: The changes. It must not assume that a table exists, because the table of a type is created at its
    ///     first use.
    public init(_ name: String, inNewFile: Bool = false, body: @escaping @Sendable (Transaction) throws -> Void) {
        self.name = name
        runsInNewFile = inNewFile
        self.body = body
    }
}

extension Connection {
    private static var migrationTable: String { "active_object_migrations" }

    /// Runs the migrations that have not run in this file. Another process may do the same, so the list is checked
    /// again under the lock.
    func migrate(_ migrations: [Migration]) throws {
        var names: Set<String> = []
        for migration in migrations where migration.name.isEmpty || !names.insert(migration.name).inserted {
            throw ActiveObjectError(
                .badMigration, message: "migration names must be unique and not empty; rename \"\(migration.name)\"")
        }
        if isReadOnly {
            // A read-only database that is opened without migrations is read as it is.
            guard try !migrations.isEmpty && pending(of: migrations) > 0 else { return }
            throw ActiveObjectError(
                .badMigration,
                message:
                    "pending migrations cannot run, because the database is open read-only; open it for writing once"
            )
        }
        guard try pending(of: migrations) > 0 else { return }
        try control("PRAGMA foreign_keys = 0")
        while try runNext(of: migrations) {}
        // If a migration fails, the connection is closed, so this setting is not restored.
        try control("PRAGMA foreign_keys = 1")
    }

    /// Returns the number of migrations that have not run. Those that have run must be the first of the list.
    private func pending(of migrations: [Migration]) throws -> Int {
        let exists = try !rows("SELECT 1 FROM sqlite_schema WHERE name = ?1", parameters: [.text(Self.migrationTable)])
        { _ in }
        .isEmpty
        guard exists else { return migrations.count }
        let done = try rows("SELECT name FROM \(Self.migrationTable) ORDER BY position") { row in
            if case .text(let name) = row[0] { name } else { "" }
        }
        if isReadOnly, migrations.isEmpty { return 0 }
        let names = migrations.map(\.name)
        for (index, name) in done.enumerated() where index >= names.count || names[index] != name {
            throw Self.mismatch(name, at: index, done: done, names: names)
        }
        return names.count - done.count
    }

    private static func mismatch(_ name: String, at index: Int, done: [String], names: [String]) -> ActiveObjectError {
        let problem =
            if index >= names.count {
                """
                the migration \"\(name)\" has run in this file but is not in the list: a newer program ran it, or it \
                was removed from the list. Use the newer program, or put it back
                """
            } else if names.contains(name) {
                """
                migrations are in a different order than they ran in this file: \"\(name)\" ran as number \
                \(index + 1), where the list has \"\(names[index])\". Restore the order, and append new migrations
                """
            } else {
                """
                the migration \"\(name)\" ran in this file as number \(index + 1), where the list has \
                \"\(names[index])\": put it back under that name, and append new migrations
                """
            }
        return ActiveObjectError(.badMigration, message: problem)
    }

    /// Runs the next migration. Returns false if there is none.
    private func runNext(of migrations: [Migration]) throws -> Bool {
        // The schema state is only valid for one migration, because the next one may change the tables.
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
            // In a new file, all migrations run in one transaction, so that no other process takes the file for an old
            // one.
            for migration in migrations.suffix(left).prefix(isNew ? left : 1) {
                if !isNew || migration.runsInNewFile { try run(migration, in: transaction) }
                _ = try rows(
                    """
                    INSERT INTO \(Self.migrationTable) (name, time) \
                    VALUES (?1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) RETURNING position
                    """, parameters: [.text(migration.name)]
                ) { _ in }
            }
            return true
        }
    }

    private func run(_ migration: Migration, in transaction: Transaction) throws {
        func failure(_ reason: String, from error: ActiveObjectError? = nil) -> ActiveObjectError {
            ActiveObjectError(
                .badMigration, message: "migration \"\(migration.name)\" failed and was rolled back: \(reason)",
                table: error?.table, column: error?.column, resultCode: error?.resultCode)
        }
        do {
            try migration.body(transaction)
        } catch let error as ActiveObjectError {
            throw failure(error.message, from: error)
        } catch {
            throw failure("\(error)")
        }
        guard isInTransaction else { throw failure("it ended its own transaction") }
        let broken = try rows("SELECT \"table\", parent FROM pragma_foreign_key_check LIMIT 1") { $0 }
        if case .text(let table) = broken.first?[0], case .text(let target) = broken.first?[1] {
            throw failure("a row of \(table) refers to a missing row of \(target)")
        }
    }
}
