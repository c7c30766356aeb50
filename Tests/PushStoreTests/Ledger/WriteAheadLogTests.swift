import Foundation
import PushModel
import Testing

@testable import PushStore

/// How large the file of the write-ahead log gets. Each commit writes whole pages, however little it brings.
@Suite(.timeLimit(.minutes(15))) struct WriteAheadLogTests {
    private static let pages = 16
    private static let pageBytes = 8192 + 24

    private static func logSize(_ scene: LedgerScene) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: scene.path + "-wal")[.size] as? Int) ?? 0
    }

    @Test func `Messages one at a time keep the log within its bound`() async throws {
        try await withLedger(checkpointPages: Self.pages) { scene in
            var largest = 0
            for index in 0..<120 {
                _ = await scene.accept(push("m\(index)"))
                scene.carryOut(scene.listener.messages[index])
                largest = max(largest, Self.logSize(scene))
            }
            // Four times the limit, where the reading thread has had no time, and what one group adds to it.
            #expect(largest <= (4 * Self.pages + 64) * Self.pageBytes)
        }
    }

    @Test func `Trace after trace does not keep the log from beginning anew`() async throws {
        try await withLedger(checkpointPages: Self.pages) { scene in
            for index in 0..<30 { _ = await scene.accept(push("m\(index)")) }
            let ledger = scene.ledger
            let reader = Task {
                while !Task.isCancelled { _ = try await ledger.trace(.message(MessageID("none")!), limit: 10) }
            }
            var largest = 0
            for index in 30..<150 {
                _ = await scene.accept(push("m\(index)"))
                largest = max(largest, Self.logSize(scene))
            }
            reader.cancel()
            _ = await reader.result
            #expect(largest <= (6 * Self.pages + 64) * Self.pageBytes)
        }
    }

    @Test func `A reader of another program holds the log back only as long as it reads`() async throws {
        try await withLedger(checkpointPages: Self.pages) { scene in
            _ = await scene.accept(push("first"))
            let other = try SQLiteConnection(scene.path)
            try other.run("BEGIN; SELECT count(*) FROM log")
            for index in 0..<40 { _ = await scene.accept(push("m\(index)")) }
            #expect(Self.logSize(scene) > 5 * Self.pages * Self.pageBytes)
            try other.run("COMMIT")
            // The next commits find nobody in the way: the log begins anew, and its file is cut.
            var count = 0
            while Self.logSize(scene) > Self.pages * Self.pageBytes + 1024, count < 1000 {
                _ = await scene.accept(push("after\(count)"))
                count += 1
            }
            #expect(count < 1000)
            #expect(await scene.settled().writeAheadPages < 4 * Self.pages)
        }
    }

    /// What a process leaves that was killed while its log was large.
    @Test func `A large log that was left behind is cut at the start`() async throws {
        try await withLedger { scene in
            for index in 0..<30 { _ = await scene.accept(push("m\(index)")) }
            let folder = scene.folder + "/killed"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for end in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: scene.path + end, toPath: folder + "/ledger.db" + end)
            }
            #expect(Self.logSize(scene) > 50 * Self.pageBytes)
            let killed = try await LedgerScene(folder)
            #expect(Self.logSize(killed) == 0)
            #expect(await killed.accept(push("m29")) == .duplicate(seq: 30))
            await killed.ledger.close()
        }
    }
}
