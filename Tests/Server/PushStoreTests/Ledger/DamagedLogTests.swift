import Foundation
import PushLoop
import PushModel
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// Damage in the write-ahead log of a killed process: SQLite's reading ends there, and the loss is found.
@Suite(.waits) struct DamagedLogTests {
    private static let frame = 8192 + 24

    /// The files of a ledger that was killed after it had accepted messages, one in each transaction.
    private struct Killed {
        let base: Data
        let log: Data
        /// The ends of the transactions in the log.
        var ends: [Int] = []
        let newest: UInt64

        func place(in folder: String, log: Data) throws {
            try base.write(to: URL(filePath: folder + "/ledger.db"))
            try log.write(to: URL(filePath: folder + "/ledger.db-wal"))
        }
    }

    private func killed(_ count: Int) async throws -> Killed {
        try await withLedger { scene in
            for index in 0..<count { _ = await scene.accept(push("m\(index)", to: [index])) }
            var killed = Killed(
                base: try Data(contentsOf: URL(filePath: scene.path)),
                log: try Data(contentsOf: URL(filePath: scene.path + "-wal")), newest: await scene.settled().newest)
            for place in stride(from: 32, to: killed.log.count, by: Self.frame)
            where killed.log[(place + 4)..<(place + 8)].contains(where: { $0 != 0 }) {
                killed.ends.append(place + Self.frame)
            }
            return killed
        }
    }

    private func lost(_ killed: Killed, _ log: Data) async throws -> LostTransactions? {
        try await withLedgerFolder { folder in
            try killed.place(in: folder, log: log)
            return try LostTransactions.saved(of: folder + "/ledger.db")
        }
    }

    @Test func `A whole log has no loss, and neither has one that restarted`() async throws {
        let killed = try await killed(10)
        #expect(killed.ends.count >= 10)
        #expect(try await lost(killed, killed.log) == nil)
        #expect(try await lost(killed, Data()) == nil)
        #expect(try await lost(killed, killed.log.prefix(40)) == nil)
        try await withLedger(checkpointPages: 8) { scene in
            for index in 0..<60 {
                _ = await scene.accept(push("m\(index)"))
                try FileManager.default.createDirectory(
                    atPath: scene.folder + "/\(index)", withIntermediateDirectories: true)
                for end in ["", "-wal"] {
                    try FileManager.default.copyItem(
                        atPath: scene.path + end, toPath: scene.folder + "/\(index)/ledger.db" + end)
                }
                #expect(try LostTransactions.saved(of: scene.folder + "/\(index)/ledger.db") == nil)
            }
        }
    }

    /// A power failure leaves any part of the last transaction, and nothing behind it.
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `A torn end is not a loss`(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let killed = try await killed(6)
        let synced = killed.ends[killed.ends.count - 2]
        for _ in 0..<20 {
            var log = killed.log
            for sector in stride(from: synced - synced % 512 + 512, to: log.count, by: 512)
            where Bool.random(using: &random) {
                let end = min(sector + 512, log.count)
                log.replaceSubrange(sector..<end, with: Data(count: end - sector))
            }
            if Bool.random(using: &random) { log = log.prefix(Int.random(in: synced...log.count, using: &random)) }
            #expect(try await lost(killed, log) == nil)
        }
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `A flipped bit before the last transaction is a loss`(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let killed = try await killed(12)
        for round in 0..<20 {
            var log = killed.log
            // Also in the header, and in each field of a frame.
            let end = killed.ends[killed.ends.count - 3]
            let place =
                switch round {
                case 0: Int.random(in: 0..<32, using: &random)
                case 1..<8:
                    32 + Self.frame * Int.random(in: 0..<((end - 32) / Self.frame), using: &random)
                        + Int.random(in: 0..<24, using: &random)
                default: Int.random(in: 32..<end, using: &random)
                }
            log[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
            let found = try await lost(killed, log)
            #expect(found != nil, "a bit of byte \(place)")
            #expect((found?.count ?? 0) >= killed.ends.count { $0 > place } - 2)
        }
    }

    @Test func `Numbers go on above those that are lost, and a copy of the log is kept`() async throws {
        let killed = try await killed(40)
        try await withLedgerFolder { folder in
            var log = killed.log
            log[killed.ends[19] + 3000] ^= 4
            try killed.place(in: folder, log: log)
            let scene = try await LedgerScene(folder)
            let missing = try #require(scene.missing.first)
            #expect(scene.missing.count == 1 && missing.newest >= 15 && missing.newest < 25)
            let lost = try #require(missing.transactions)
            #expect(lost.count >= 40 - Int(missing.newest))
            #expect(try Data(contentsOf: URL(filePath: lost.copy)) == log)
            let newest = missing.newest
            #expect(await scene.accept(push("m0", to: [0])) == .duplicate(seq: 1))
            let seq = try #require(await scene.accept(push("m39", to: [39])).seq)
            #expect(seq > killed.newest && seq >= missing.next)
            let event = try #require(try scene.listener.segments.flatMap { try $0.events() }.last)
            #expect(event.prev > killed.newest)
            let page = try await scene.ledger.read(since: newest, limit: 10)
            #expect(page.gap(at: newest) == (newest + 1)...(missing.next - 1))
            // The damage is reported once.
            try await scene.reopen()
            #expect(scene.missing.isEmpty)
            #expect(await scene.accept(push("m39", to: [39])) == .duplicate(seq: seq))
            await scene.ledger.close()
        }
    }

    @Test func `A ledger that ends before what other files know leaves numbers out`() async throws {
        try await withLedger { scene in
            for index in 0..<3 { _ = await scene.accept(push("m\(index)")) }
            await scene.ledger.close()
            scene.reached = 3
            try await scene.reopenOnly()
            #expect(scene.missing.isEmpty)
            await scene.ledger.close()
            scene.reached = 4711
            try await scene.reopenOnly()
            #expect(scene.missing.map(\.newest) == [3] && scene.missing.allSatisfy { $0.transactions == nil })
            let seq = try #require(await scene.accept(push("next")).seq)
            #expect(seq > 4711 && seq == scene.missing.first?.next)
        }
    }
}
