import Foundation
import Testing

@testable import ActiveObject

@Suite struct MigrationTests {
    private struct Person: ActiveRecord {
        static var indexes: [Index<Person>] { [Index(\.grade)] }
        var objectId: Int64?
        var name: String
        var grade: Int
    }

    private static let old = [
        "CREATE TABLE persons (objectId INTEGER PRIMARY KEY, name TEXT NOT NULL, rank INTEGER NOT NULL) STRICT",
        "CREATE INDEX persons_rank_index ON persons (rank)", "INSERT INTO persons (name, rank) VALUES ('Joe', 3)",
    ]

    private static func options(_ migrations: Migration...) -> Database.Options {
        var options = Database.Options()
        options.migrations = migrations
        return options
    }

    private static func add(_ letter: String) -> Migration {
        Migration(letter) { try $0.connection.run("UPDATE persons SET name = name || '\(letter)'") }
    }

    private static let rename = Migration("rename-rank") {
        try $0.renameColumn(of: "persons", from: "rank", to: "grade")
    }

    @Test func `A renamed column keeps its values and its index`() async throws {
        try await withFile(Self.old, options: Self.options(Self.rename)) { database in
            let found = try await Person.findAll(in: database)
            #expect(found.map(\.grade) == [3])
            let names = try look(into: database.path, "SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY 1")
            #expect(names.map { $0[0] } == ["persons_grade_index", "sqlite_autoindex_active_object_migrations_1"])
            let done = try look(
                into: database.path,
                "SELECT position, name, time LIKE '20__-__-__T__:__:__.___Z' FROM active_object_migrations")
            #expect(done == [["1", "rename-rank", "1"]])
        }
    }

    @Test func `Each migration runs once, in order`() async throws {
        try await withFolder { folder in
            let path = folder + "/test.db"
            try prepareFile(path, with: Self.old)
            for migrations in [["a", "b"], ["a", "b"], ["a", "b", "c"]] {
                var options = Database.Options()
                options.migrations = migrations.map(Self.add)
                let database = try await Database.open(path, name: nil, options: options)
                await database.close()
            }
            #expect(try look(into: path, "SELECT name FROM persons") == [["Joeabc"]])
        }
    }

    @Test func `A failed migration is rolled back, and earlier ones are kept`() async throws {
        struct Stop: Error {}
        try await withFolder { folder in
            let path = folder + "/test.db"
            try prepareFile(path, with: Self.old)
            let fails = Migration("fails") { transaction in
                try transaction.connection.run("UPDATE persons SET name = 'lost'")
                try transaction.connection.run("DROP TABLE nothing")
            }
            let throwing = Migration("throws") { _ in throw Stop() }
            for bad in [fails, throwing] {
                let options = Self.options(Self.add("a"), bad, Self.add("c"))
                let error = await thrownError { _ = try await Database.open(path, name: nil, options: options) }
                #expect(error?.code == .badMigration)
                #expect(error?.message.contains(bad.name) == true)
                #expect(try look(into: path, "SELECT name FROM persons") == [["Joea"]])
            }
            let database = try await Database.open(path, name: nil, options: Self.options(Self.add("a"), Self.add("b")))
            await database.close()
            #expect(try look(into: path, "SELECT name FROM persons") == [["Joeab"]])
        }
    }

    @Test(arguments: [
        (["a"], "newer"), ([], "newer"), (["b", "a"], "order"), (["x", "b"], "put it back"),
        (["a", "b", "a"], "unique"),
        (["a", "b", ""], "not empty"),
    ])
    func `A list of migrations that contradicts those that ran is rejected`(names: [String], reason: String)
        async throws
    {
        try await withFolder { folder in
            let path = folder + "/test.db"
            try prepareFile(path, with: Self.old)
            let database = try await Database.open(path, name: nil, options: Self.options(Self.add("a"), Self.add("b")))
            await database.close()
            var options = Database.Options()
            options.migrations = names.map(Self.add)
            let error = await thrownError { _ = try await Database.open(path, name: nil, options: options) }
            #expect(error?.code == .badMigration)
            #expect(error?.message.contains(reason) == true, "\(error?.message ?? "no error")")
            #expect(try look(into: path, "SELECT name FROM persons") == [["Joeab"]])
        }
    }

    @Test func `A new file records all migrations and runs those for new files`() async throws {
        let seed = Migration("seed", inNewFile: true) { transaction in
            var first = Person(name: "First", grade: 1)
            try first.save(in: transaction)
        }
        try await withDatabase(Self.options(Self.add("a"), seed, Self.rename)) { database in
            let found = try await Person.findAll(in: database)
            #expect(found.map(\.name) == ["First"])
            let done = try look(into: database.path, "SELECT name FROM active_object_migrations ORDER BY position")
            #expect(done == [["a"], ["seed"], ["rename-rank"]])
        }
    }

    @Test func `Each migration runs once if many open the file concurrently`() async throws {
        try await withFolder { folder in
            let path = folder + "/test.db"
            try prepareFile(path, with: ["PRAGMA journal_mode = WAL"] + Self.old)
            try await withThrowingTaskGroup(of: Database.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        var options = Self.options(Self.add("a"), Self.add("b"), Self.add("c"))
                        options.readers = 1
                        return try await Database.open(path, name: nil, options: options)
                    }
                }
                for try await database in group { await database.close() }
            }
            #expect(try look(into: path, "SELECT name FROM persons") == [["Joeabc"]])
        }
    }

    @Test func `A read-only database runs no migrations`() async throws {
        try await withFolder { folder in
            let path = folder + "/test.db"
            try prepareFile(path, with: ["PRAGMA journal_mode = WAL"] + Self.old)
            var options = Self.options(Self.rename)
            options.isReadOnly = true
            let error = await thrownError { _ = try await Database.open(path, name: nil, options: options) }
            #expect(error?.code == .badMigration)
            let writing = try await Database.open(path, name: nil, options: Self.options(Self.rename))
            await writing.close()
            for migrations in [[Self.rename], []] {
                options.migrations = migrations
                let database = try await Database.open(path, name: nil, options: options)
                let found = try await Person.findAll(in: database)
                #expect(found.map(\.grade) == [3])
                await database.close()
            }
        }
    }

    @Test func `A migration of a locked file fails with busy`() async throws {
        try await withFolder { folder in
            let path = folder + "/test.db"
            try prepareFile(path, with: ["PRAGMA journal_mode = WAL"] + Self.old)
            let other = try Connection(path: path, mode: .readWrite(creates: false))
            defer { other.close() }
            try other.begin()
            var options = Self.options(Self.add("a"))
            options.busyTimeout = .zero
            let error = await thrownError { _ = try await Database.open(path, name: nil, options: options) }
            #expect(error?.code == .busy)
            other.rollBack()
            let database = try await Database.open(path, name: nil, options: options)
            await database.close()
            #expect(try look(into: path, "SELECT name FROM persons") == [["Joea"]])
        }
    }

    // MARK: Changes

    private struct Team: ActiveRecord {
        var objectId: Int64?
        var name: String
    }
    private struct Player: ActiveRecord {
        static var columns: [Column<Player>] { [Column(\.number, default: 7)] }
        static var indexes: [Index<Player>] { [.unique(\.number)] }
        static var references: [Reference<Player>] { [Reference(\.team, to: Team.self, onRemove: .cascade)] }
        var objectId: Int64?
        var number: Int
        var team: Int64
        var name = ""
    }

    private static let teams = [
        "CREATE TABLE teams (objectId INTEGER PRIMARY KEY, name TEXT, gone TEXT) STRICT",
        "CREATE TABLE log (line TEXT)",
        "CREATE TRIGGER on_team AFTER INSERT ON teams BEGIN INSERT INTO log VALUES (new.name); END",
        "CREATE INDEX mine ON teams (name, objectId)", "CREATE VIEW named AS SELECT name FROM teams",
        "INSERT INTO teams VALUES (1, 'Reds', 'x'), (2, NULL, 'y')",
        """
        CREATE TABLE players (objectId INTEGER PRIMARY KEY, number TEXT,
        team INTEGER REFERENCES teams (objectId) ON DELETE CASCADE) STRICT
        """, "INSERT INTO players VALUES (1, '11', 1), (2, NULL, 2)",
    ]

    @Test func `A table is rebuilt from its type, and rows that refer to it are kept`() async throws {
        let migrations = Self.options(
            Migration("teams") {
                try $0.rebuildTable(of: Team.self, taking: ["NAME": "coalesce(name, gone)"], dropping: ["gone"])
            }, Migration("players") { try $0.rebuildTable(of: Player.self) })
        try await withFile(Self.teams, options: migrations) { database in
            let players = try await Player.findAll(in: database)
            #expect(players.map(\.number) == [11, 7])
            let teams = try await Team.findAll(in: database)
            #expect(teams.map(\.name) == ["Reds", "y"])
            var third = Team(name: "Blues")
            try await third.save(in: database)
            #expect(third.objectId == 3)
            #expect(try look(into: database.path, "SELECT line FROM log ORDER BY rowid").last == ["Blues"])
            #expect(try look(into: database.path, "SELECT count(*) FROM named") == [["3"]])
            #expect(
                try look(into: database.path, "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql <> ''")
                    .map { $0[0] }.sorted() == ["mine", "players_number_key", "players_team_index"])
            var lost = Player(number: 1, team: 99)
            let error = await thrownError { try await lost.save(in: database) }
            #expect(error?.code == .brokenReference, "foreign keys are enforced again")
        }
    }

    private struct Node: ActiveRecord {
        static var references: [Reference<Node>] { [Reference(\.parent, to: Node.self, onRemove: .cascade)] }
        var objectId: Int64?
        var parent: Int64?
    }

    @Test func `A table with a reference to itself is rebuilt with another rule`() async throws {
        let old = [
            """
            CREATE TABLE nodes (objectId INTEGER PRIMARY KEY,
            parent INTEGER REFERENCES nodes (objectId) ON DELETE SET NULL) STRICT
            """, "INSERT INTO nodes VALUES (1, NULL), (2, 1), (3, 2)",
        ]
        try await withFile(old) { database in
            let error = await thrownError { _ = try await Node.findAll(in: database) }
            #expect(error?.code == .badSchema && error?.column == "parent")
        }
        let options = Self.options(Migration("cascade") { try $0.rebuildTable(of: Node.self) })
        try await withFile(old, options: options) { database in
            let before = try await Node.findAll(in: database)
            #expect(before.map(\.parent) == [nil, 1, 2])
            try await database.write { try $0.connection.run("DELETE FROM nodes WHERE objectId = 1") }
            let after = try await Node.findAll(in: database)
            #expect(after.isEmpty)
        }
    }

    @Test func `Rebuilding a table removes only columns that are listed`() async throws {
        try await withFolder { folder in
            let path = folder + "/test.db"
            try prepareFile(path, with: Self.teams)
            for migration in [
                Migration("loses") { try $0.rebuildTable(of: Team.self) },
                Migration("NULL") { try $0.rebuildTable(of: Team.self, dropping: ["gone"]) },
                Migration("unknown") { try $0.rebuildTable(of: Team.self, taking: ["what": "1"], dropping: ["gone"]) },
                Migration("orphans") { try $0.connection.run("DELETE FROM teams WHERE objectId = 1") },
            ] {
                let error = await thrownError {
                    _ = try await Database.open(path, name: nil, options: Self.options(migration))
                }
                #expect(error?.code == .badMigration)
                #expect(try look(into: path, "SELECT count(*), count(gone) FROM teams") == [["2", "2"]])
            }
            let database = try await Database.open(path, name: nil)
            let outside = await thrownError {
                try await database.write { try $0.rebuildTable(of: Team.self, dropping: ["gone"]) }
            }
            #expect(outside?.code == .badMigration)
            await database.close()
        }
    }

    @Test func `Renaming and dropping tables and columns is idempotent`() async throws {
        try await withFolder { folder in
            let path = folder + "/test.db"
            try prepareFile(path, with: Self.old + ["CREATE TABLE \"a\"\"b\" (\"c\"\"d\" TEXT, e TEXT, f TEXT)"])
            let database = try await Database.open(path, name: nil)
            for _ in 0..<2 {
                try await database.write { transaction in
                    try transaction.renameColumn(of: "persons", from: "RANK", to: "grade \"1\"")
                    try transaction.renameTable(from: "persons", to: "people")
                    try transaction.renameColumn(of: "a\"b", from: "c\"d", to: "g")
                    try transaction.dropColumn("e", of: "a\"b")
                    try transaction.renameColumn(of: "none", from: "a", to: "b")
                    try transaction.dropColumn("a", of: "none")
                }
            }
            #expect(try look(into: path, "SELECT name FROM pragma_table_info('a\"b')") == [["g"], ["f"]])
            #expect(
                try look(into: path, "SELECT name FROM sqlite_schema WHERE type = 'index'")
                    == [["people_grade \"1\"_index"]])
            let neither = await thrownError {
                try await database.write { try $0.renameColumn(of: "people", from: "x", to: "y") }
            }
            #expect(neither?.code == .badMigration)
            let both = await thrownError {
                try await database.write { try $0.renameColumn(of: "a\"b", from: "g", to: "f") }
            }
            #expect(both?.code == .badMigration)
            try await database.write { try $0.dropColumn("grade \"1\"", of: "people") }
            #expect(try look(into: path, "SELECT name FROM pragma_table_info('people')") == [["objectId"], ["name"]])
            await database.close()
        }
    }

    @Test func `A table created in a rolled back part is created again`() async throws {
        struct Stop: Error {}
        try await withFile(Self.old) { database in
            try await database.write { transaction in
                var team = Team(name: "Reds")
                try team.save(in: transaction)
                try? transaction.savepoint {
                    try transaction.renameTable(from: "teams", to: "clubs")
                    try transaction.renameColumn(of: "persons", from: "rank", to: "grade")
                    _ = try Person.findAll(in: transaction)
                    throw Stop()
                }
                #expect(throws: ActiveObjectError.self) { try Person.findAll(in: transaction) }
                let teams = try Team.findAll(in: transaction)
                #expect(teams.map(\.name) == ["Reds"])
            }
        }
    }

    @Test func `A type checks its table again after it was renamed`() async throws {
        try await withFile(Self.old, options: Self.options(Self.rename)) { database in
            let before = try await Person.findAll(in: database)
            #expect(before.count == 1)
            try await database.write { try $0.renameTable(from: "persons", to: "people") }
            let after = try await Person.findAll(in: database)
            #expect(after.isEmpty)
        }
    }
}
