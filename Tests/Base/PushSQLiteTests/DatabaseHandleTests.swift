import Foundation
import PushSQLite
import Testing

@Suite struct DatabaseHandleTests {
    // MARK: Open and close

    @Test func `A path that begins like a URI is a path`() throws {
        try withFolder { folder in
            // As a URI, it would name this file.
            #expect(throws: SQLiteFailure.self) {
                let database = try DatabaseHandle(path: "file:\(folder)/a.db", mode: .readWrite(creates: true))
                try database.execute("CREATE TABLE t (a)")
            }
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(files.isEmpty)
        }
    }

    @Test(arguments: ["", "a\u{0}b"]) func `A path that SQLite would not use as it is, is rejected`(path: String) {
        let failure = #expect(throws: SQLiteFailure.self) {
            _ = try DatabaseHandle(path: path, mode: .readWrite(creates: true))
        }
        #expect(failure?.code == .cannotOpen)
    }

    @Test func `A file is opened in each mode`() throws {
        try withFolder { folder in
            let path = folder + "/50% a&b?c=d#ü.db"
            #expect(throws: SQLiteFailure.self) { _ = try DatabaseHandle(path: path, mode: .readWrite(creates: false)) }
            let writer = try DatabaseHandle(path: path, mode: .readWrite(creates: true))
            try writer.execute("CREATE TABLE t (a); INSERT INTO t VALUES (5)")
            #expect(!writer.isReadOnly)
            #expect(writer.close())
            for mode in [DatabaseHandle.Mode.readOnly, .immutable] {
                let reader = try DatabaseHandle(path: path, mode: mode)
                #expect(reader.isReadOnly)
                #expect(try reader.integers("SELECT a FROM t") == [5])
                let failure = #expect(throws: SQLiteFailure.self) { try reader.execute("DELETE FROM t") }
                #expect(failure?.primary == .readOnly)
            }
        }
    }

    @Test func `A failure to open has the error number of the operating system`() throws {
        let failure = #expect(throws: SQLiteFailure.self) {
            _ = try DatabaseHandle(path: "/nowhere/a.db", mode: .readWrite(creates: true))
        }
        #expect(failure?.primary == .cannotOpen)
        #expect(failure?.systemError == ENOENT)
        #expect(failure?.message == "unable to open database file")
    }

    @Test func `Closing reports that a statement still exists`() throws {
        let database = try memory()
        do {
            let statement = try database.prepare("SELECT 1")
            #expect(!database.close())
            _ = statement.columnCount
        }
        #expect(database.close())
    }

    // MARK: Statements

    @Test func `Only a text with exactly one statement is prepared`() throws {
        let database = try memory()
        func rejection(_ sql: String) -> String? {
            do {
                _ = try database.prepareOnly(sql)
                return nil
            } catch {
                if case .failed(let failure) = error { return failure.message }
                return "\(error)"
            }
        }
        #expect(rejection("SELECT 1") == nil)
        #expect(rejection("SELECT 1; -- nothing more\n ;") == nil)
        #expect(rejection("SELECT 1\u{0}; DROP TABLE t") == "containsNUL")
        #expect(rejection(" -- nothing") == "noStatement")
        #expect(rejection("SELECT 1; SELECT 2") == "severalStatements")
        #expect(rejection("SELECT 1; not SQL") == "severalStatements")
        #expect(rejection("not SQL") == "near \"not\": syntax error")
    }

    @Test func `A statement in use is reset with all others`() throws {
        let database = try memory()
        let statement = try database.prepare("SELECT 1 UNION SELECT 2")
        let (first, second, third): (Bool, Int64, Int64)
        first = try statement.step()
        second = statement.integer(0)
        database.resetRunningStatements()
        _ = try statement.step()
        third = statement.integer(0)
        #expect(first && second == 1 && third == 1)
    }

    @Test func `Columns are described`() throws {
        let database = try memory()
        try database.execute("CREATE TABLE t (a TEXT COLLATE NOCASE, b)")
        #expect(database.hasColumn("a", in: "t") && !database.hasColumn("c", in: "t"))
        #expect(database.collation(of: "a", in: "t") == "NOCASE")
        #expect(database.collation(of: "b", in: "t") == "BINARY")
        #expect(database.collation(of: "c", in: "t") == nil)
    }

    @Test func `Changes and transactions are reported`() throws {
        let database = try memory()
        try database.execute("CREATE TABLE t (a)")
        try database.execute("BEGIN")
        #expect(database.isInTransaction)
        try database.execute("INSERT INTO t VALUES (1), (2)")
        #expect(database.changes == 2 && database.totalChanges == 2 && database.lastInsertedRowID == 2)
        try database.execute("COMMIT")
        #expect(!database.isInTransaction)
    }

    // MARK: Hooks

    @Test func `A commit reports the pages of the log, and a checkpoint copies them`() throws {
        try withFolder { folder in
            let database = try DatabaseHandle(path: folder + "/a.db", mode: .readWrite(creates: true))
            try database.execute("PRAGMA journal_mode = WAL")
            var pages = 0
            database.onCommit { pages = $0 }
            try database.execute("CREATE TABLE t (a)")
            #expect(pages > 0)
            let result = try database.checkpoint(.passive)
            #expect(result.pagesInLog == pages && result.pagesCopied == pages && result.isDone)
            #expect(try database.checkpoint(.truncate).isDone)
            let log = try FileManager.default.attributesOfItem(atPath: folder + "/a.db-wal")
            #expect(log[.size] as? Int == 0)
        }
    }

    @Test func `A handler decides how long a locked file is waited for`() throws {
        try withFolder { folder in
            let one = try DatabaseHandle(path: folder + "/a.db", mode: .readWrite(creates: true))
            let other = try DatabaseHandle(path: folder + "/a.db", mode: .readWrite(creates: true))
            try one.execute("BEGIN EXCLUSIVE")
            var tries: [Int32] = []
            other.setBusyHandler {
                tries.append($0)
                return $0 < 3
            }
            let failure = #expect(throws: SQLiteFailure.self) { try other.execute("BEGIN IMMEDIATE") }
            #expect(failure?.primary == .busy)
            #expect(tries == [0, 1, 2, 3])
        }
    }

    @Test func `A progress handler stops a statement that runs forever`() throws {
        let database = try memory()
        var asked = 0
        database.setProgressHandler(every: 1000) {
            asked += 1
            return asked == 5
        }
        let failure = #expect(throws: SQLiteFailure.self) {
            try database.execute(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
        }
        #expect(failure?.primary == .interrupted)
        #expect(asked == 5)
    }

    @Test func `An authorizer decides about transactions, savepoints and settings`() throws {
        let database = try memory()
        var actions: [GuardedAction] = []
        database.setAuthorizer {
            actions.append($0)
            return $0 != .setting(pragma: "cache_size")
        }
        try database.execute("BEGIN; SAVEPOINT a; RELEASE a; COMMIT; PRAGMA cache_size; PRAGMA user_version = 1")
        #expect(
            actions == [.transaction, .savepoint, .savepoint, .transaction, .setting(pragma: "user_version")])
        let failure = #expect(throws: SQLiteFailure.self) { try database.execute("PRAGMA cache_size = 1") }
        #expect(failure?.code == .notAuthorized)
    }

    @Test func `Changes of rows and savepoints are reported in their order`() throws {
        let database = try memory()
        var seen: [String] = []
        let isAdded = database.addSavepointTable(named: "marks") { seen.append("\($0)") }
        try #require(isAdded)
        let isThere = unsafe database.onRowChange { change, table in
            seen.append("\(unsafe String(cString: table)) \(change)")
        }
        try #require(isThere)
        try database.execute("CREATE TABLE t (a INTEGER PRIMARY KEY); CREATE TEMP TABLE u (a)")
        seen = []
        try database.execute("BEGIN; INSERT INTO marks VALUES (NULL); INSERT INTO t VALUES (7); SAVEPOINT s")
        try database.execute("UPDATE t SET a = 8; DELETE FROM t; ROLLBACK TO s; INSERT INTO u VALUES (1); COMMIT")
        #expect(
            seen.filter { $0.hasPrefix("t ") }
                == ["t inserted(7)", "t updated(from: 7, to: 8)", "t removed(8)"])
        #expect(seen.contains("created(0)") && seen.contains("rolledBack(to: 0)"))
        #expect(!seen.contains { $0.hasPrefix("u ") })
        database.stopRowChanges()
        seen = []
        try database.execute("INSERT INTO t VALUES (9)")
        #expect(seen.isEmpty)
    }

    // MARK: Backup

    @Test func `A backup copies everything, or says that it was stopped`() throws {
        try withFolder { folder in
            let source = try memory()
            try source.execute("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(100000))")
            let target = try DatabaseHandle(path: folder + "/copy.db", mode: .readWrite(creates: true))
            var calls = 0
            var progress: [CopyProgress] = []
            let isStopped = try !source.backUp(into: target, pagesAtOnce: 1) {
                calls += 1
                progress.append($0)
                return calls < 3
            }
            #expect(isStopped)
            #expect(progress.map(\.copiedPages) == [0, 1, 2] && progress.last.map { $0.pages > 20 } == true)
            let isComplete = try source.backUp(into: target, pagesAtOnce: 8) { _ in true }
            #expect(isComplete)
            #expect(try target.integers("SELECT length(a) FROM t") == [100_000])
        }
    }

    @Test func `A backup into a locked file fails with the error of that file`() throws {
        try withFolder { folder in
            let source = try memory()
            try source.execute("CREATE TABLE t (a)")
            let holder = try DatabaseHandle(path: folder + "/copy.db", mode: .readWrite(creates: true))
            try holder.execute("BEGIN EXCLUSIVE")
            let target = try DatabaseHandle(path: folder + "/copy.db", mode: .readWrite(creates: true))
            let failure = #expect(throws: SQLiteFailure.self) {
                _ = try source.backUp(into: target, pagesAtOnce: 8) { _ in true }
            }
            #expect(failure?.primary == .busy)
            #expect(failure?.message == "database is locked")
        }
    }
}

func memory() throws -> DatabaseHandle { try DatabaseHandle(path: ":memory:", mode: .readWrite(creates: true)) }

/// Runs `body` with the path of an empty folder.
func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "sqlite-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path())
}

extension DatabaseHandle {
    /// Returns the first column of all rows.
    func integers(_ sql: String) throws -> [Int64] {
        let statement = try prepareOnly(sql)
        var integers: [Int64] = []
        while try statement.step() { integers.append(statement.integer(0)) }
        return integers
    }
}
