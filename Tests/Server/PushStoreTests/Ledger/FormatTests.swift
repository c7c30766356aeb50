import PushModel
import TestTraits
import Testing

@testable import PushStore

@Suite(.waits) struct FormatTests {
    private static let hello = Array(#"{"aps":{"alert":"hello"}}"#.utf8)

    private func token(_ number: UInt8) -> Address {
        Address(bytes: [UInt8](repeating: 0, count: 31) + [number])!
    }

    private func hello(
        _ id: String, _ tokens: [UInt8], expiresAt: Int64? = nil, notBefore: Int64? = nil
    ) -> PushRequest {
        push(
            id, to: .tokens(tokens.map { token($0) }), expiresAt: expiresAt, notBefore: notBefore, payload: Self.hello)
    }

    @Test func `A ledger of the first version opens with all of its contents`() async throws {
        try await withLedgerFolder { folder in
            do {
                let connection = try SQLiteConnection(folder + "/ledger.db")
                try connection.run(FirstFormat.sql)
            }
            let scene = try await LedgerScene(folder, at: FirstFormat.time)
            let status = await scene.settled()
            #expect(status.waiting == 4)
            #expect(status.scheduled == 1)
            #expect(status.messageKeys == 6)
            #expect(scene.backlog.lanes.flatMap(\.seqs) == [3, 4, 5, 6])
            var counts = AppBacklog()
            (counts.waiting, counts.scheduled) = (4, 1)
            #expect(status.apps == [LedgerScene.shop: counts])
            #expect(scene.ledger.backlog(of: LedgerScene.shop) == counts)
            #expect(await scene.accept(hello("single", [1])) == .duplicate(seq: 3))
            #expect(await scene.accept(hello("wide", [2, 1])) == .duplicate(seq: 4))
            #expect(await scene.accept(hello("twice", [1])) == .duplicate(seq: 5))
            #expect(await scene.accept(hello("twice", [1, 2])) == .duplicate(seq: 6))
            #expect(await scene.accept(hello("later", [1], notBefore: 1_795_845_404)) == .duplicate(seq: 7))
            #expect(await scene.accept(hello("soon", [3], expiresAt: 1_795_327_006)) == .duplicate(seq: 9))
            #expect(await scene.accept(hello("gone", [3, 4], expiresAt: 1_795_327_006)) == .duplicate(seq: 10))
            #expect(await scene.claim(6, "twice", [token(1), token(2)]) == [.done, .new])
            #expect(try await scene.due(at: 1_795_845_404).messages.map(\.seq) == [7])
            for message in try await scene.load([3, 4, 5, 6, 7]) { scene.carryOut(message) }
            try await scene.reopen()
            #expect(scene.backlog.lanes.isEmpty)
            #expect(await scene.settled().apps.isEmpty)
            scene.advance(.seconds(30 * 86_400))
            let later = await scene.trim()
            #expect(later.messageKeys == 0)
            #expect(later.deliveryKeys == 0)
            await scene.ledger.close()
        }
    }

    /// Values that a damaged disk or a manual change may leave in a column. None of them may end the process.
    @Test(arguments: [
        "UPDATE scheduled SET seq = -5", "UPDATE scheduled SET seq = 9223372036854775807",
        "UPDATE keys SET number = 9223372036854775807 WHERE number = 3", "UPDATE keys SET number = -7 WHERE number = 3",
        "UPDATE messages SET first = 9223372036854775807 WHERE first = 3",
        "UPDATE messages SET first = -1 WHERE first = 3", "UPDATE log SET first = 9223372036854775807 WHERE first = 13",
        "UPDATE log SET count = 9223372036854775807 WHERE first = 13", "UPDATE heads SET seq = -1",
        "UPDATE messages SET count = -1", "UPDATE messages SET count = 9000000000",
        "UPDATE messages SET count = 9223372036854775807",
        "UPDATE keys SET completed = x'ffffffffffffffff000000000000000001'",
        "UPDATE keys SET ended = x'ffffffffffffffffffffffffffffffff'", "UPDATE keys SET accepted = 'text', ended = 7",
        "UPDATE log SET count = -9000 WHERE first = 4", "UPDATE log SET first = 0 WHERE first = 3",
        "UPDATE log SET first = -3 WHERE first = 3", "UPDATE log SET count = 9000000000 WHERE first = 4",
        "UPDATE log SET time = -9223372036854775807", "UPDATE log SET time = 9223372036854775807",
        "UPDATE keys SET time = -9223372036854775807", "UPDATE keys SET time = 9223372036854775807",
        "UPDATE messages SET heads = x'ff', bodies = x''", "UPDATE messages SET heads = x'ffffff000a00ffff'",
        "UPDATE messages SET bodies = zeroblob(3)", "UPDATE scheduled SET due = 9223372036854775807",
        "INSERT INTO trace_runs VALUES (-9, -1, x'00', x'ff')",
        "INSERT INTO trace_runs VALUES (9223372036854775807, 9223372036854775807, zeroblob(8), x'ffffffffffffffffff')",
        "DELETE FROM log", "DELETE FROM keys", "UPDATE scheduled SET app = '', body = x''",
    ])
    func `Invalid values in a file are detected or tolerated`(change: String) async throws {
        try await withLedgerFolder { folder in
            do {
                let connection = try SQLiteConnection(folder + "/ledger.db")
                try connection.run(FirstFormat.sql)
                try connection.run(change)
            }
            let scene: LedgerScene
            do {
                scene = try await LedgerScene(folder, at: FirstFormat.time)
            } catch let error as StoreError {
                #expect(error.code == .damaged)
                return
            }
            _ = await scene.accept([push("a"), push("b", to: [1, 2]), hello("twice", [1, 2]), hello("single", [1])])
            for seq in [3, 4, 5, 6, 7, 20, .max] as [UInt64] {
                for message in (try? await scene.load([seq])) ?? [] { scene.carryOut(message) }
            }
            _ = try? await scene.due(at: .max)
            _ = try? await scene.ledger.read(since: 0, limit: .max)
            _ = try? await scene.ledger.read(since: .max, limit: 10)
            _ = try? await scene.ledger.trace(.message(MessageID("wide")!), limit: 100)
            scene.advance(.seconds(40 * 86_400))
            await scene.trim()
            #expect(await scene.accept(push("after")).seq != nil)
            await scene.ledger.close()
        }
    }
}
