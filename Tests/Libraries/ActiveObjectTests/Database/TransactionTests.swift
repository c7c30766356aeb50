import TestSupport
import Testing

@testable import ActiveObject

@Suite struct TransactionTests {
    private struct Stop: Error {}

    /// Runs random savepoints and compares the rows with an array that is copied and restored.
    @Test(arguments: 1...20) func `Nested savepoints each roll back only their own changes`(seed: UInt64) async throws {
        try await withDatabase { database in
            let expected = try await database.write { transaction in
                var random = SeededRandom(seed: seed)
                var expected: [String] = []
                func work(_ depth: Int) throws {
                    for _ in 0..<Int.random(in: 1...4, using: &random) {
                        if depth < 6, Bool.random(using: &random) {
                            let before = expected
                            let fails = Bool.random(using: &random)
                            do {
                                try transaction.savepoint {
                                    try work(depth + 1)
                                    if fails { throw Stop() }
                                }
                            } catch is Stop {
                                expected = before
                            }
                        } else {
                            var note = Jot("\(random.next())")
                            try note.save(in: transaction)
                            expected.append(note.text)
                        }
                    }
                }
                try work(0)
                return expected
            }
            #expect(try await database.texts() == expected)
        }
    }

    @Test func `A table created in a failed savepoint is created again`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                try? transaction.savepoint {
                    var note = Jot("undone")
                    try note.save(in: transaction)
                    throw Stop()
                }
                var note = Jot("kept")
                try note.save(in: transaction)
            }
            #expect(try await database.texts() == ["kept"])
        }
    }

    /// SQLite rolls back the whole transaction when a trigger asks for it. Further statements of the closure would run
    /// outside of any transaction, each on its own.
    @Test func `No statement runs after SQLite has rolled back the transaction`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                _ = try Jot.findAll(in: transaction)
                _ = try transaction.texts(
                    of: """
                        CREATE TRIGGER no BEFORE INSERT ON jots WHEN new.text = 'bad'
                        BEGIN SELECT RAISE(ROLLBACK, 'no'); END
                        """
                )
            }
            let thrown = await thrownError {
                try await database.write { transaction in
                    var first = Jot("first")
                    try first.save(in: transaction)
                    var bad = Jot("bad")
                    #expect(throws: ActiveObjectError.self) {
                        try transaction.savepoint { try bad.save(in: transaction) }
                    }
                    var later = Jot("later")
                    #expect(throws: ActiveObjectError.self) { try later.save(in: transaction) }
                    #expect(throws: ActiveObjectError.self) { try transaction.savepoint {} }
                    #expect(throws: ActiveObjectError.self) { try transaction.connection.run("DELETE FROM jots") }
                    #expect(throws: ActiveObjectError.self) { try Jot.findAll(in: transaction) }
                }
            }
            #expect(thrown?.code == .checkFailed)
            #expect(thrown?.message.contains("rolled back as a whole") == true, "\(thrown?.message ?? "nothing")")
            #expect(try await database.texts() == [])
            var note = Jot("good")
            try await note.save(in: database)
            #expect(try await database.texts() == ["good"])
        }
    }

    @Test(arguments: [
        "COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT x", "END", "RELEASE s1", "PRAGMA journal_mode = DELETE",
    ])
    func `Raw SQL cannot begin or end a transaction`(sql: String) async throws {
        try await withDatabase { database in
            let thrown = await thrownError {
                try await database.write { transaction in
                    var note = Jot("undone")
                    try note.save(in: transaction)
                    _ = try transaction.texts(of: sql)
                }
            }
            #expect(thrown?.code == .badSQL, "\(thrown?.message ?? "ran")")
            let left = try await database.texts()
            #expect(left == [])
            #expect(await thrownCode { _ = try await database.read { try $0.texts(of: sql) } } == .badSQL)
        }
    }

    @Test func `A failed commit is rolled back and does not affect the next transaction`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                try transaction.connection.run(
                    """
                    CREATE TABLE parents (id INTEGER PRIMARY KEY);
                    CREATE TABLE children (id INTEGER PRIMARY KEY,
                        parent REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)
                    """)
            }
            let thrown = await thrownCode {
                try await database.write { _ = try $0.texts(of: "INSERT INTO children VALUES (1, 7)") }
            }
            #expect(thrown == .brokenReference)
            #expect(try await database.texts(of: "SELECT * FROM children") == [])
            try await database.write { transaction in
                _ = try transaction.texts(of: "INSERT INTO children VALUES (1, 7)")
                _ = try transaction.texts(of: "INSERT INTO parents VALUES (7)")
            }
            #expect(try await database.texts(of: "SELECT * FROM children") == ["1|7"])
        }
    }

    @Test func `A rollback succeeds while statements are in use`() async throws {
        try await withDatabase { database in
            var jots = (0..<100).map { Jot("\($0)") }
            try await jots.saveAll(in: database)
            await #expect(throws: Stop.self) {
                try await database.write { transaction in
                    // This statement is taken and never given back.
                    let statement = try transaction.connection.take("SELECT * FROM jots")
                    _ = try statement.step()
                    _ = try transaction.texts(of: "DELETE FROM jots WHERE objectId > 50")
                    throw Stop()
                }
            }
            #expect(try await database.texts().count == 100)
            try await database.read { _ = try $0.connection.take("SELECT * FROM jots").step() }
            try await database.read { _ = try $0.connection.take("SELECT * FROM jots").step() }
            var note = Jot("next")
            try await note.save(in: database)
            // No reader holds an old state.
            #expect(try await database.checkpoint(.truncate).isComplete)
        }
    }
}
