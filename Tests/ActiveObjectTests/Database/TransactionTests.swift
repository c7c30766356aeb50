import TestSupport
import Testing

@testable import ActiveObject

@Suite struct TransactionTests {
    private struct Stop: Error {}

    /// Savepoints at random, beside an array that is copied and put back.
    @Test(arguments: 1...20) func `Savepoints nest, and each undoes its own part only`(seed: UInt64) async throws {
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

    @Test func `A table that is made in a savepoint that fails is made again later`() async throws {
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

    /// SQLite undoes the whole transaction when a trigger says so. What the closure does then would be done outside of
    /// any transaction, each statement for itself.
    @Test func `After SQLite has undone a transaction nothing more is done in it`() async throws {
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
            #expect(thrown?.message.contains("undone as a whole") == true, "\(thrown?.message ?? "nothing")")
            #expect(try await database.texts() == [])
            var note = Jot("good")
            try await note.save(in: database)
            #expect(try await database.texts() == ["good"])
        }
    }

    @Test(arguments: [
        "COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT x", "END", "RELEASE s1", "PRAGMA journal_mode = DELETE",
    ])
    func `Raw SQL does not end or begin a transaction`(sql: String) async throws {
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

    @Test func `What is found broken at the end is undone, and the next transaction is not bothered`() async throws {
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

    @Test func `Statements in use do not stand in the way of undoing`() async throws {
        try await withDatabase { database in
            var jots = (0..<100).map { Jot("\($0)") }
            try await jots.saveAll(in: database)
            await #expect(throws: Stop.self) {
                try await database.write { transaction in
                    // Taken and never given back.
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
            // No reader holds an old state any more.
            #expect(try await database.checkpoint(.truncate).isComplete)
        }
    }
}
