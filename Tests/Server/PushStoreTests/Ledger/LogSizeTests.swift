import Foundation
import PushModel
import Testing

@testable import PushStore

/// The size of the log after a start. `retention.logBytes` bounds the log by it.
@Suite struct LogSizeTests {
    private static func fill(_ scene: LedgerScene, _ range: Range<Int>) async {
        for index in range {
            _ = await scene.accept(push("m\(index)"))
            scene.carryOut(scene.listener.messages.last!)
        }
    }

    /// The bytes of all rows, as the file has them.
    private static func bytes(_ path: String) throws -> Int64 {
        let connection = try SQLiteConnection(path)
        let sum = try connection.prepare("SELECT coalesce(sum(length(body)), 0) FROM log")
        return try withExtendedLifetime(connection) {
            defer { sum.reset() }
            _ = try sum.step()
            return sum.number(0)
        }
    }

    /// Each message has two rows of keys, which a start reads, and two of the log.
    @Test func `A start does not read the rows of a log that was closed`() async throws {
        let counts = [20, 200]
        var steps: [UInt64] = []
        for count in counts {
            try await withLedger { scene in
                await Self.fill(scene, 0..<count)
                let before = await scene.settled()
                try await scene.reopen()
                let after = await scene.settled()
                #expect(after.logBytes == before.logBytes)
                #expect(after.oldest == before.oldest)
                steps.append(after.steps)
            }
        }
        #expect(steps[1] - steps[0] <= UInt64(2 * (counts[1] - counts[0]) + 10))
    }

    @Test func `After a kill the rows are added that were written after the size was stored`() async throws {
        try await withLedger { scene in
            await Self.fill(scene, 0..<30)
            try await scene.reopen()
            await Self.fill(scene, 30..<60)
            scene.retention.logBytes = await scene.settled().logBytes / 2
            _ = await scene.trim()
            await Self.fill(scene, 60..<70)
            let size = await scene.settled().logBytes
            let folder = scene.folder + "/killed"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for end in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: scene.path + end, toPath: folder + "/ledger.db" + end)
            }
            let killed = try await LedgerScene(folder)
            #expect(await killed.settled().logBytes == size)
            await killed.ledger.close()
        }
    }

    /// What an earlier version, or a fault of the disk, may leave.
    @Test(arguments: [
        "DELETE FROM log WHERE first = (SELECT min(first) FROM log)",
        "DELETE FROM log WHERE first < (SELECT max(first) FROM log)",
        "INSERT INTO log SELECT first + count, 1, time, body FROM log ORDER BY first DESC LIMIT 1",
        "UPDATE meta SET value = x'00' WHERE name = 'log_size'",
        "UPDATE meta SET value = zeroblob(24) WHERE name = 'log_size'",
        "UPDATE meta SET value = x'0100000000000000' || x'0200000000000000' || x'00000000000000ff' "
            + "WHERE name = 'log_size'",
        "UPDATE meta SET value = 17 WHERE name = 'log_size'",
        "DELETE FROM meta WHERE name = 'log_size'",
    ])
    func `The size is that of the rows, whatever is stored about it`(change: String) async throws {
        try await withLedger { scene in
            await Self.fill(scene, 0..<20)
            await scene.ledger.close()
            try SQLiteConnection(scene.path).run(change)
            let expected = try Self.bytes(scene.path)
            try await scene.reopenOnly()
            #expect(await scene.settled().logBytes == expected)
        }
    }
}
