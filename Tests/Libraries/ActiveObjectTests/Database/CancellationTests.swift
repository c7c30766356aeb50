import Foundation
import PushThread
import TestSupport
import TestTraits
import Testing

@testable import ActiveObject

@Suite struct CancellationTests {
    private static let endless =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"

    @Test func `A call that is cancelled while it waits returns at once and never runs`() async throws {
        try await withDatabase { database in
            let (isIn, mayGo, hasRun) = (Occasion(), Occasion(), Locked(false))
            let running = Task {
                try await database.write { _ in
                    isIn.happen()
                    mayGo.block()
                }
            }
            await isIn.wait()
            let waiting = Task { try await database.write { _ in hasRun.withLock { $0 = true } } }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            // The call before it ends only now.
            mayGo.happen()
            try await running.value
            try await database.write { _ in }
            #expect(!hasRun.withLock { $0 })
        }
    }

    @Test(arguments: [false, true]) func `Cancelling the task stops the running statement`(isWriting: Bool) async throws
    {
        try await withDatabase { database in
            let isIn = Occasion()
            let running = Task {
                if isWriting {
                    return try await database.write { transaction in
                        var note = Jot("undone")
                        try note.save(in: transaction)
                        isIn.happen()
                        return try transaction.rows(Self.endless)
                    }
                }
                return try await database.read { snapshot in
                    isIn.happen()
                    return try snapshot.rows(Self.endless)
                }
            }
            await isIn.wait()
            running.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
            #expect(try await database.texts() == [])
            var note = Jot("kept")
            try await note.save(in: database)
            #expect(try await database.texts() == ["kept"])
        }
    }

    @Test func `An endless closure of short statements is stopped between two of them`() async throws {
        try await withDatabase { database in
            for _ in 0..<20 {
                let isIn = Occasion()
                let running = Task {
                    try await database.write { transaction in
                        while true {
                            var note = Jot("undone")
                            try note.save(in: transaction)
                            isIn.happen()
                        }
                    }
                }
                await isIn.wait()
                running.cancel()
                await #expect(throws: CancellationError.self) { try await running.value }
            }
            let left = try await database.texts()
            #expect(left == [])
        }
    }

    @Test func `A cancelled transaction is rolled back even if its closure ignores the error`() async throws {
        try await withDatabase { database in
            let isIn = Occasion()
            let running = Task {
                try await database.write { transaction in
                    var note = Jot("undone")
                    try note.save(in: transaction)
                    isIn.happen()
                    _ = try? transaction.savepoint { try transaction.rows(Self.endless) }
                    try? note.save(in: transaction)
                    return 1
                }
            }
            await isIn.wait()
            running.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
            let left = try await database.texts()
            #expect(left == [])
        }
    }

    @Test(.waits) func `A call that is cancelled while another program holds the file stops waiting`()
        async throws
    {
        try await withFolder { folder in
            var options = Database.Options()
            options.busyTimeout = .seconds(3600)
            let database = try await Database.open(folder + "/a.db", name: nil, options: options)
            let other = try Connection(path: folder + "/a.db", mode: .readWrite(creates: false))
            try other.begin()
            let waiting = Task { try await database.write { _ in } }
            // The reader that waits behind it shows that the call has reached the writer. The outcome does not depend
            // on this.
            try await database.read { _ in }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            other.rollBack()
            other.close()
            try await database.write { _ in }
            await database.close()
        }
    }

    /// At any moment of the cancellation, a write that returns is committed, one that throws is not, and no other call
    /// is stopped.
    @Test func `Random cancellations report the true outcome and affect no other call`() async throws {
        var options = Database.Options()
        options.durability = .normal
        try await withDatabase(options) { database in
            try await database.write { _ = try $0.texts(of: "CREATE TABLE t (n INTEGER PRIMARY KEY)") }
            let isOver = Locked(false)
            let bystander = Task {
                var count = 0
                while !isOver.withLock({ $0 }) {
                    try await database.write { _ = try $0.texts(of: "SELECT count(*) FROM t") }
                    _ = try await database.read { try $0.texts(of: "SELECT count(*) FROM t") }
                    count += 1
                }
                return count
            }
            var random = SeededRandom(seed: 11)
            var returned: Set<String> = []
            for number in 0..<2000 {
                let (isIn, waits) = (Occasion(), Bool.random(using: &random))
                let spin = Int.random(in: 0..<2000, using: &random)
                let writing = Task {
                    try await database.write { transaction in
                        _ = try transaction.texts(of: "INSERT INTO t VALUES (\(number))")
                        if waits { isIn.happen() }
                        _ = try transaction.texts(of: "SELECT count(*) FROM t")
                    }
                }
                if waits { await isIn.wait() }
                for _ in 0..<spin { _ = random.next() }
                writing.cancel()
                switch await writing.result {
                case .success: returned.insert("\(number)")
                case .failure(let error): #expect(error is CancellationError, "\(error)")
                }
            }
            isOver.withLock { $0 = true }
            #expect(try await bystander.value > 0)
            #expect(try await Set(database.texts(of: "SELECT n FROM t")) == returned)
            // Both outcomes must have occurred, or the test proves nothing.
            #expect(returned.count > 0 && returned.count < 2000)
        }
    }

    @Test func `A call of a task that is already cancelled does nothing`() async throws {
        try await withDatabase { database in
            let isCancelled = Occasion()
            let task = Task {
                await isCancelled.wait()
                var note = Jot("never")
                try await note.save(in: database)
            }
            task.cancel()
            isCancelled.happen()
            await #expect(throws: CancellationError.self) { try await task.value }
            let left = try await database.texts()
            #expect(left == [])
        }
    }
}
