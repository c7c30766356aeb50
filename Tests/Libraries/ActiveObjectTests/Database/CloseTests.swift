import Foundation
import TestSupport
import Testing

@testable import ActiveObject

@Suite struct CloseTests {
    @Test func `Close waits for running and waiting calls and rejects later calls`() async throws {
        try await withFolder { folder in
            let database = try await Database.open(folder + "/a.db", name: nil)
            let (isIn, mayGo) = (Occasion(), Occasion())
            let running = Task {
                try await database.write { transaction in
                    isIn.happen()
                    mayGo.block()
                    var note = Jot("first")
                    try note.save(in: transaction)
                }
            }
            await isIn.wait()
            let waiting = (1...20).map { number in
                Task {
                    var note = Jot("\(number)")
                    try await note.save(in: database)
                }
            }
            let reading = Task { try await database.read { _ in isIn.block() } }
            try await reading.value
            // Two tasks close the database. When either returns, the database is closed.
            let closing = (0..<2).map { _ in
                Task {
                    await database.close()
                    return await thrownCode { _ = try await database.read { _ in 1 } }
                }
            }
            mayGo.happen()
            try await running.value
            var saved = 1
            // A call before the gate closed succeeded; a later call failed with an error.
            for task in waiting {
                switch await task.result {
                case .success: saved += 1
                case .failure(let error): #expect((error as? ActiveObjectError)?.code == .notOpen)
                }
            }
            for task in closing { #expect(await task.value == .notOpen) }
            await database.close()
            #expect(await thrownCode { try await database.checkpoint() } == .notOpen)
            #expect(await thrownCode { _ = try await database.write { _ in 1 } } == .notOpen)
            // The log was copied into the file and removed.
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a.db"])
            let again = try await Database.open(folder + "/a.db", name: nil)
            #expect(try await again.texts().count == saved)
            await again.close()
        }
    }

    /// The child process makes it possible to count its threads.
    @Test func `A database that is released while open ends its threads and closes its file`() async throws {
        await #expect(processExitsWith: .success) {
            func threads() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { task in
                    let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
                    return name?.hasPrefix("db-") == true
                }
            }
            try await withFolder { folder in
                for number in 0..<20 {
                    let database = try await Database.open(folder + "/a.db", name: nil)
                    var note = Jot("\(number)")
                    try await note.save(in: database)
                    let count = try await Jot.findAll(in: database).count
                    #expect(count == number + 1)
                }
                // There is no event for the end of a thread to wait for.
                try await wait(while: try threads() > 0)
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a.db"])
            }
        }
    }

    @Test func `Releasing a database right after a call or a failed open is safe`() async throws {
        try await withFolder { folder in
            for number in 0..<40 {
                let database = try await Database.open(folder + "/a.db", name: nil)
                async let one = database.read { _ in number }
                async let other = database.write { _ in number }
                #expect(try await one + other == 2 * number)
                #expect(await thrownCode { _ = try await Database.open(folder, name: nil) } == .cannotOpen)
            }
        }
    }

    @Test func `Using a snapshot outside of its closure traps and leaves the data intact`() async throws {
        await #expect(processExitsWith: .failure) {
            final class Smuggler: @unchecked Sendable { var snapshot: Snapshot? }
            let database = try await Database.open(":memory:", name: nil)
            let smuggler = Smuggler()
            try await database.read { smuggler.snapshot = $0 }
            _ = try Jot.findAll(in: smuggler.snapshot!)
        }
    }
}
