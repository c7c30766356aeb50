import Foundation
import TestSupport
import Testing

@testable import ActiveObject

/// Tests in which another program has the same file open.
@Suite struct OtherProcessTests {
    /// A process that runs statements, reports it, and stays until it is killed.
    private func hold(_ path: String, running statements: String...) async throws -> ChildProcess {
        let script = """
            import signal, sqlite3, sys
            c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
            for s in sys.argv[2:]: c.execute(s).fetchall()
            print("held", flush=True)
            signal.pause()
            """
        let child = try ChildProcess("python3", ["-c", script, path] + statements)
        try #require(try await child.line() == "held")
        return child
    }

    @Test func `A lock of another program fails a write after the busy timeout`() async throws {
        try await withFolder { folder in
            var options = Database.Options()
            options.busyTimeout = .milliseconds(200)
            let path = folder + "/a.db"
            let database = try await Database.open(path, name: nil, options: options)
            var note = Jot("first")
            try await note.save(in: database)
            let other = try await hold(path, running: "BEGIN IMMEDIATE", "INSERT INTO jots (text) VALUES ('undone')")
            let clock = ContinuousClock()  // timed: the busy timeout is tested, from below
            var thrown: ActiveObjectError?
            let time = await clock.measure { thrown = await thrownError { try await note.save(in: database) } }
            #expect(thrown?.code == .busy)
            #expect(thrown?.message.contains("locked by another program") == true)
            #expect(time >= .milliseconds(200))
            // Readers are not affected.
            #expect(try await database.texts() == ["first"])
            other.send(SIGKILL)
            _ = try await other.end()
            try await note.save(in: database)
            #expect(try await database.texts() == ["first"])
            await database.close()
        }
    }

    @Test func `A reader of another program keeps its state and does not block the writer`() async throws {
        try await withFolder { folder in
            var options = Database.Options()
            options.busyTimeout = .milliseconds(50)
            let path = folder + "/a.db"
            let database = try await Database.open(path, name: nil, options: options)
            var note = Jot("first")
            try await note.save(in: database)
            let other = try await hold(path, running: "BEGIN", "SELECT * FROM jots")
            var more = Jot("second")
            try await more.save(in: database)
            #expect(try await database.checkpoint(.truncate).isComplete == false)
            other.send(SIGKILL)
            _ = try await other.end()
            #expect(try await database.checkpoint(.truncate).isComplete)
            await database.close()
        }
    }

    /// Creating the log of a new file needs an exclusive lock for a moment.
    @Test func `Opening an exclusively locked file fails after the busy timeout`() async throws {
        try await withFolder { folder in
            var options = Database.Options()
            options.busyTimeout = .milliseconds(50)
            let path = folder + "/a.db"
            let other = try await hold(
                path, running: "CREATE TABLE t (a)", "BEGIN EXCLUSIVE", "INSERT INTO t VALUES (1)")
            #expect(await thrownCode { _ = try await Database.open(path, name: nil, options: options) } == .busy)
            other.send(SIGKILL)
            _ = try await other.end()
            // The journal undoes the unfinished transaction of the killed program.
            let database = try await Database.open(path, name: nil, options: options)
            #expect(try await database.texts(of: "SELECT count(*) FROM t") == ["0"])
            await database.close()
        }
    }

    @Test func `Two programs that write concurrently lose no rows`() async throws {
        try await withFolder { folder in
            let path = folder + "/a.db"
            let database = try await Database.open(path, name: nil)
            try await database.write { transaction in
                _ = try transaction.texts(of: "CREATE TABLE counter (n INTEGER)")
                _ = try transaction.texts(of: "INSERT INTO counter VALUES (0)")
            }
            let script = """
                import sqlite3, sys
                c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
                for i in range(100):
                    c.execute("BEGIN IMMEDIATE")
                    n = c.execute("SELECT n FROM counter").fetchone()[0]
                    c.execute("UPDATE counter SET n = ?", (n + 1,))
                    c.execute("COMMIT")
                """
            let other = try ChildProcess("python3", ["-c", script, path])
            for _ in 0..<100 {
                try await database.write { transaction in
                    let count = Int(try transaction.texts(of: "SELECT n FROM counter")[0]) ?? 0
                    _ = try transaction.texts(of: "UPDATE counter SET n = \(count + 1)")
                }
            }
            let ended = try await other.end()
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(try await database.texts(of: "SELECT n FROM counter") == ["200"])
            await database.close()
        }
    }

    @Test func `Prepared statements see a table changed by another program`() async throws {
        try await withFolder { folder in
            let path = folder + "/a.db"
            let database = try await Database.open(path, name: nil)
            try await database.write { _ = try $0.texts(of: "CREATE TABLE t (a)") }
            try await database.write { _ = try $0.texts(of: "INSERT INTO t VALUES (1)") }
            for _ in 0..<4 { #expect(try await database.texts(of: "SELECT * FROM t") == ["1"]) }
            let ended = try await ChildProcess.run(
                "python3",
                [
                    "-c",
                    """
                    import sqlite3, sys
                    sqlite3.connect(sys.argv[1]).execute('ALTER TABLE t ADD COLUMN b DEFAULT 7')
                    """,
                    path,
                ])
            #expect(ended.status == 0, "\(ended.errors)")
            for _ in 0..<4 { #expect(try await database.texts(of: "SELECT * FROM t") == ["1|7"]) }
            await database.close()
        }
    }
}
