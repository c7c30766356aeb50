import Foundation
import PushThread
import TestSupport
import Testing

@testable import ActiveObject

@Suite struct MaintenanceTests {
    private func logSize(_ path: String) -> Int {
        var information = stat()
        return stat(path + "-wal", &information) == 0 ? Int(information.st_size) : 0
    }

    // MARK: Checkpoints

    @Test func `A checkpoint reports how many pages it copied`() async throws {
        var options = Database.Options()
        options.checkpointPages = 0
        try await withDatabase(options) { database in
            var jots = (0..<1000).map { Jot("note \($0)") }
            try await jots.saveAll(in: database)
            let passive = try await database.checkpoint()
            #expect(passive.isComplete && passive.pagesInLog > 5 && passive.pagesCopied == passive.pagesInLog)
            #expect(logSize(database.path) > 5 * 4096)
            let cut = try await database.checkpoint(.truncate)
            #expect(cut == Database.Checkpoint(pagesInLog: 0, pagesCopied: 0, isComplete: true))
            #expect(logSize(database.path) == 0)
        }
    }

    @Test func `A checkpoint is incomplete until a long read ends`() async throws {
        var options = Database.Options()
        options.checkpointPages = 0
        options.busyTimeout = .milliseconds(20)
        try await withDatabase(options) { database in
            var note = Jot("before")
            try await note.save(in: database)
            let (isIn, mayGo) = (Occasion(), Occasion())
            let reading = Task {
                try await database.read { _ in
                    isIn.happen()
                    mayGo.block()
                }
            }
            await isIn.wait()
            var jots = (0..<500).map { Jot("note \($0)") }
            try await jots.saveAll(in: database)
            for mode in [Database.CheckpointMode.passive, .full, .truncate] {
                let held = try await database.checkpoint(mode)
                #expect(!held.isComplete && held.pagesCopied < held.pagesInLog, "\(mode)")
            }
            mayGo.happen()
            try await reading.value
            #expect(try await database.checkpoint(.full).isComplete)
        }
    }

    /// A read always begins before the previous one ends, so that there is no moment at which the log could be copied
    /// completely.
    @Test func `The log stays bounded while reads overlap without a gap`() async throws {
        var options = Database.Options()
        options.durability = .normal
        options.checkpointPages = 20
        try await withDatabase(options) { database in
            try await database.write { _ = try Jot.findAll(in: $0) }
            let isOver = Locked(false)
            let turnover = Task {
                var last: (mayGo: Occasion, task: Task<Int, any Error>)?
                var count = 0
                while !isOver.withLock({ $0 }) {
                    let (isIn, mayGo) = (Occasion(), Occasion())
                    let task = Task {
                        try await database.read { snapshot in
                            isIn.happen()
                            mayGo.block()
                            return try snapshot.texts(of: "SELECT count(*) FROM jots").count
                        }
                    }
                    await isIn.wait()
                    last?.mayGo.happen()
                    _ = try await last?.task.value
                    last = (mayGo, task)
                    count += 1
                }
                last?.mayGo.happen()
                _ = try await last?.task.value
                return count
            }
            // The log restarts repeatedly. How long it gets depends on the machine, because a commit waits for readers
            // only for a limited time.
            var (restarts, commits, pages) = (0, 0, 0)
            while restarts < 5, commits < 20_000 {
                var note = Jot("note \(commits)")
                try await note.save(in: database)
                let now = try await database.inspect { $0.callbacks.logPages }
                if now < pages { restarts += 1 }
                pages = now
                commits += 1
            }
            isOver.withLock { $0 = true }
            #expect(try await turnover.value > 0)
            #expect(restarts == 5, "\(commits) commits, \(pages) pages")
        }
    }

    /// Simulates a process that was killed while its log was large.
    @Test func `Opening a file truncates a large log that was left behind`() async throws {
        var options = Database.Options()
        options.durability = .normal
        options.checkpointPages = 0
        try await withDatabase(options) { database in
            var note = Jot("before")
            try await note.save(in: database)
            try await database.write { transaction in
                _ = try transaction.texts(of: "CREATE TABLE large (body)")
                _ = try transaction.texts(of: "INSERT INTO large VALUES (zeroblob(20000000))")
            }
            #expect(logSize(database.path) > 20_000_000)
            let killed = database.path + ".killed"
            for end in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: database.path + end, toPath: killed + end)
            }
            defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: killed + end) } }
            options.checkpointPages = 1000
            let again = try await Database.open(killed, name: nil, options: options)
            #expect(logSize(killed) == 0)
            #expect(try await again.read { try Jot.findAll(in: $0) }.map(\.text) == ["before"])
            await again.close()
        }
    }

    // MARK: Backup

    @Test func `A backup during writes is one state of the database and complete`() async throws {
        var options = Database.Options()
        options.durability = .normal
        try await withDatabase(options) { database in
            let filler = String(repeating: "x", count: 2000)
            try await database.write { transaction in
                for _ in 0..<1000 {
                    var note = Jot(filler)
                    try note.save(in: transaction)
                }
                _ = try transaction.texts(of: "CREATE TABLE pair (a, b)")
                _ = try transaction.texts(of: "INSERT INTO pair VALUES (0, 0)")
            }
            let isOver = Locked(false)
            let writing = Task {
                while !isOver.withLock({ $0 }) {
                    try await database.write { transaction in
                        _ = try transaction.texts(of: "UPDATE pair SET a = a + 1")
                        _ = try transaction.texts(of: "UPDATE jots SET text = text || 'y' WHERE objectId % 100 = 0")
                        _ = try transaction.texts(of: "UPDATE pair SET b = b + 1")
                    }
                }
            }
            for number in 0..<5 {
                let path = database.path + ".\(number)"
                try await database.backup(to: path)
                let copy = try await Database.open(path, name: nil)
                #expect(try await copy.integrityCheck() == [])
                #expect(try await copy.texts(of: "SELECT count(*) FROM jots") == ["1000"])
                #expect(try await copy.texts(of: "SELECT a = b FROM pair") == ["1"])
                #expect(
                    try await copy.texts(of: "SELECT length(text) - 2000 - a FROM jots, pair WHERE objectId = 100") == [
                        "0"
                    ]
                )
                await copy.close()
            }
            isOver.withLock { $0 = true }
            try await writing.value
            let before = try Data(contentsOf: URL(filePath: database.path + ".0"))
            #expect(await thrownCode { try await database.backup(to: database.path + ".0") } == .cannotOpen)
            #expect(try Data(contentsOf: URL(filePath: database.path + ".0")) == before)
            #expect(await thrownCode { try await database.backup(to: "/nowhere/a.db") } == .cannotOpen)
            let left = try FileManager.default.contentsOfDirectory(
                atPath: URL(filePath: database.path).deletingLastPathComponent().path())
            #expect(left.filter { $0.contains("partial") || $0.contains("journal") } == [])
        }
    }

    @Test func `Two backups into one file do not damage each other`() async throws {
        try await withDatabase { database in
            let path = database.path + ".copy"
            // Simulates a backup of another process.
            let lock = open(path + ".partial.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            #expect(flock(lock, LOCK_EX) == 0)
            try Data("half".utf8).write(to: URL(filePath: path + ".partial"))
            #expect(await thrownCode { try await database.backup(to: path) } == .busy)
            #expect(try Data(contentsOf: URL(filePath: path + ".partial")) == Data("half".utf8))
            // The other process ends without removing its files.
            #expect(flock(lock, LOCK_UN) == 0)
            close(lock)
            try await database.backup(to: path)
            let left = try FileManager.default.contentsOfDirectory(
                atPath: URL(filePath: database.path).deletingLastPathComponent().path())
            #expect(left.filter { $0.contains("partial") } == [])
        }
    }

    @Test func `A cancelled backup leaves no files`() async throws {
        try await withDatabase { database in
            var jots = (0..<5000).map { Jot("note \($0) " + String(repeating: "x", count: 500)) }
            try await jots.saveAll(in: database)
            for _ in 0..<20 {
                let path = database.path + ".copy"
                let backup = Task { try await database.backup(to: path) }
                await pace()
                backup.cancel()
                let isThere = (try? await backup.value) != nil
                #expect((access(path, F_OK) == 0) == isThere)
                #expect(access(path + ".partial", F_OK) != 0)
                unlink(path)
            }
            try await database.write { _ in }
        }
    }

    @Test(arguments: [0o600, 0o640, 0o666])
    func `A backup has the permissions of the database`(_ mode: Int) async throws {
        try await withDatabase { database in
            try #require(chmod(database.path, mode_t(mode)) == 0)
            try await database.backup(to: database.path + ".copy")
            var copy = stat()
            #expect(stat(database.path + ".copy", &copy) == 0 && Int(copy.st_mode & 0o777) == mode)
        }
    }

    @Test func `A database in memory can be backed up`() async throws {
        try await withFolder { folder in
            let database = try await Database.open(":memory:", name: nil)
            var note = Jot("kept")
            try await note.save(in: database)
            try await database.backup(to: folder + "/a.db")
            await database.close()
            let copy = try await Database.open(folder + "/a.db", name: nil)
            #expect(try await copy.texts() == ["kept"])
            await copy.close()
        }
    }

    // MARK: Integrity checks

    @Test func `An integrity check finds dangling references and a wrong index`() async throws {
        try await withFolder { folder in
            let raw = try Connection(path: folder + "/a.db", mode: .readWrite(creates: true))
            try raw.run(
                """
                CREATE TABLE parents (id INTEGER PRIMARY KEY);
                CREATE TABLE children (id INTEGER PRIMARY KEY, parent REFERENCES parents (id));
                INSERT INTO children VALUES (3, 7)
                """)
            raw.close()
            let database = try await Database.open(folder + "/a.db", name: nil)
            #expect(try await database.integrityCheck() == ["row 3 of children refers to a missing row of parents"])
            await database.close()
        }
    }
}
