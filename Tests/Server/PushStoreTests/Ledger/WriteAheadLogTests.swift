import Foundation
import PushModel
import TestTraits
import Testing

@testable import PushStore

/// The size of the write-ahead log file. Each commit writes whole pages, however few bytes it adds.
@Suite(.waits) struct WriteAheadLogTests {
    private static let pages = 16
    private static let pageBytes = 8192 + 24
    private static let headerBytes = 32

    private static func logSize(_ scene: LedgerScene) -> Int { logSize(scene.path) }

    private static func logSize(_ path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int) ?? 0
    }

    @Test func `Single messages keep the write-ahead log within its limit`() async throws {
        try await withLedger(checkpointPages: Self.pages) { scene in
            var largest = 0
            for index in 0..<120 {
                _ = await scene.accept(push("m\(index)"))
                scene.carryOut(scene.listener.messages[index])
                largest = max(largest, Self.logSize(scene))
            }
            // The limit is twice the setting, in case the reading thread had no time, plus the pages of one group.
            #expect(largest <= Self.headerBytes + (2 * Self.pages + 32) * Self.pageBytes)
        }
    }

    /// Groups follow each other without a pause while traces are read and pages are copied.
    @Test func `Under full load the write-ahead log restarts again and again`() async throws {
        try await withLedger(checkpointPages: 64) { scene in
            let (ledger, path) = (scene.ledger, scene.path)
            let payload = Array(#"{"aps":{"alert":"\#(String(repeating: "a", count: 3000))"}}"#.utf8)
            let reader = Task {
                while !Task.isCancelled { _ = try await ledger.trace(.message(MessageID("none")!), limit: 10) }
            }
            let largest = await withTaskGroup(of: Int.self) { producers in
                for producer in 0..<4 {
                    producers.addTask {
                        var largest = 0
                        for round in 0..<150 {
                            let group = (0..<8).map { push("m\(producer)-\(round)-\($0)", payload: payload) }
                            await withCheckedContinuation { done in ledger.accept(group) { _ in done.resume() } }
                            largest = max(largest, Self.logSize(path))
                        }
                        return largest
                    }
                }
                return await producers.reduce(0) { max($0, $1) }
            }
            reader.cancel()
            _ = await reader.result
            // A group has 32 messages of 3 KiB at most. How far the log grows beyond its setting depends on when the thread of
            // the reader runs; without a restart it would have thousands of pages.
            #expect(largest > 64 * Self.pageBytes)
            #expect(largest <= Self.headerBytes + (8 * 64 + 32) * Self.pageBytes)
        }
    }

    @Test func `Continuous traces do not prevent the write-ahead log from restarting`() async throws {
        try await withLedger(checkpointPages: Self.pages) { scene in
            for index in 0..<30 { _ = await scene.accept(push("m\(index)")) }
            let ledger = scene.ledger
            let reader = Task {
                while !Task.isCancelled { _ = try await ledger.trace(.message(MessageID("none")!), limit: 10) }
            }
            // How far the log grows before it restarts depends on when the thread of the reader runs.
            var (restarts, size, count) = (0, Self.logSize(scene), 30)
            while restarts < 3, count < 5000 {
                _ = await scene.accept(push("m\(count)"))
                count += 1
                let now = Self.logSize(scene)
                if now < size { restarts += 1 }
                size = now
            }
            reader.cancel()
            _ = await reader.result
            #expect(restarts == 3)
        }
    }

    @Test func `A reader in another program delays the restart of the log only while it reads`() async throws {
        try await withLedger(checkpointPages: Self.pages) { scene in
            _ = await scene.accept(push("first"))
            let other = try SQLiteConnection(scene.path)
            try other.run("BEGIN; SELECT count(*) FROM log")
            for index in 0..<40 { _ = await scene.accept(push("m\(index)")) }
            #expect(Self.logSize(scene) > 5 * Self.pages * Self.pageBytes)
            try other.run("COMMIT")
            // No reader is active now, so the log restarts with one of the next commits and its file is truncated.
            var count = 0
            while Self.logSize(scene) > 2 * Self.pages * Self.pageBytes + 1024, count < 1000 {
                _ = await scene.accept(push("after\(count)"))
                count += 1
            }
            #expect(count < 1000)
            #expect(await scene.settled().writeAheadPages < 4 * Self.pages)
        }
    }

    /// The files are those of a process that was killed while its log was large.
    @Test func `A large log of a killed process is truncated at the start`() async throws {
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
