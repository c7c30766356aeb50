import Testing

@testable import ActiveObject

/// Tests of tables that have changed since their type was prepared.
@Suite struct ForgottenTableTests {
    private struct Note: ActiveRecord, Equatable {
        var objectId: Int64?
        var text: String
    }

    @Test func `A table that raw SQL drops is created again`() async throws {
        try await withDatabase { database in
            var note = Note(text: "first")
            try await note.save(in: database)
            try await database.run("DROP TABLE notes")
            let none = try await Note.findAll(in: database)
            #expect(none.isEmpty)
            let count = try await database.write { transaction in
                try transaction.run("DROP TABLE notes")
                var note = Note(text: "second")
                try note.save(in: transaction)
                return try Note.countAll(in: transaction)
            }
            #expect(count == 1)
        }
    }

    @Test func `A table that is dropped in a failed savepoint still exists`() async throws {
        try await withDatabase { database in
            let count = try await database.write { transaction in
                var note = Note(text: "first")
                try note.save(in: transaction)
                _ = #expect(throws: ActiveObjectError.self) {
                    try transaction.savepoint {
                        try transaction.run("DROP TABLE notes")
                        try transaction.run("SELECT * FROM nowhere")
                    }
                }
                var other = Note(text: "second")
                try other.save(in: transaction)
                return try Note.countAll(in: transaction)
            }
            #expect(count == 2)
        }
    }

    @Test(arguments: [true, false]) func `A table that another program drops is created again`(
        byReading: Bool
    ) async throws {
        try await withDatabase { database in
            var note = Note(text: "first")
            try await note.save(in: database)
            try prepareFile(database.path, with: ["DROP TABLE notes"])
            if byReading {
                let none = try await Note.findAll(in: database)
                #expect(none.isEmpty)
            } else {
                // A transaction is not repeated, but the next one finds the table.
                let error = await thrownError { _ = try await Note(text: "lost").saved(in: database) }
                #expect(error?.code == .badSQL)
                let saved = try await Note(text: "kept").saved(in: database)
                #expect(saved.objectId == 1)
            }
        }
    }

    @Test func `A table created in a failed transaction is created again, also for readers`() async throws {
        try await withDatabase { database in
            for _ in 0..<2 {
                await #expect(throws: CancellationError.self) {
                    try await database.write { transaction in
                        var note = Note(text: "first")
                        try note.save(in: transaction)
                        throw CancellationError()
                    }
                }
                let none = try await Note.findAll(in: database)
                #expect(none.isEmpty)
                try await database.run("DROP TABLE notes")
            }
        }
    }

    @Test func `A dropped table of a database in memory is created again`() async throws {
        let database = try await Database.open(":memory:", name: nil)
        _ = try await Note(text: "first").saved(in: database)
        try await database.run("DROP TABLE notes")
        let none = try await Note.findAll(in: database)
        #expect(none.isEmpty)
        await database.close()
    }

    @Test func `Cached raw SQL returns the current columns of a changed table`() async throws {
        try await withDatabase { database in
            try await database.run("CREATE TABLE pairs (objectId INTEGER PRIMARY KEY, a, b)")
            try await database.run("INSERT INTO pairs VALUES (1, 'a', 'b')")
            let sql = "SELECT * FROM pairs"
            // Each reader has the statement in its cache.
            for _ in 0..<4 { _ = try await database.rows(sql) }
            try prepareFile(
                database.path, with: ["ALTER TABLE pairs DROP COLUMN a", "ALTER TABLE pairs ADD COLUMN c DEFAULT 'c'"])
            let rows = try await database.rows(sql)
            #expect(rows.first?["b"] == .text("b"))
            #expect(rows.first?["c"] == .text("c"))
            #expect(rows.first?["a"] == nil)
        }
    }

    private struct Pair: ActiveRecord, Equatable {
        var objectId: Int64?
        var b: String
        var c: String
    }

    @Test func `Records of raw SQL are read from the current columns of a changed table`() async throws {
        let made = "CREATE TABLE pairs (objectId INTEGER PRIMARY KEY, b TEXT, c TEXT)"
        try await withFile([made, "INSERT INTO pairs VALUES (1, 'b', 'c')"]) { database in
            let pair = Pair(objectId: 1, b: "b", c: "c")
            let sql = "SELECT * FROM pairs"
            for _ in 0..<4 {
                let pairs = try await Pair.find(sql: sql, in: database)
                #expect(pairs == [pair])
            }
            try prepareFile(
                database.path,
                with: [
                    "DROP TABLE pairs", "CREATE TABLE pairs (objectId INTEGER PRIMARY KEY, c TEXT, b TEXT)",
                    "INSERT INTO pairs VALUES (1, 'c', 'b'), (2, 'c', 'b')",
                ])
            let pairs = try await Pair.find(sql: sql, in: database)
            #expect(pairs.first == pair && pairs.count == 2)
        }
    }
}

extension ActiveRecord {
    fileprivate func saved(in database: Database) async throws -> Self {
        var record = self
        try await record.save(in: database)
        return record
    }
}
