import Foundation
import PushModel
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// A stored message with a changed bit is not sent. Others of its row are.
@Suite(.waits) struct DamagedMessageTests {
    private static let columns = [
        "messages": ["apps", "heads", "bodies", "time", "sums"], "scheduled": ["due", "time", "app", "body", "sum"],
    ]

    /// Returns what a ledger hands out, by number.
    private func sent(_ scene: LedgerScene, _ seqs: [UInt64], due: Int64) async -> [UInt64: AcceptedMessage] {
        var found: [UInt64: AcceptedMessage] = [:]
        // Each call ends at a damaged message, which the next one skips.
        for _ in 0...seqs.count {
            for message in (try? await scene.load(seqs)) ?? [] { found[message.seq] = message }
            for message in (try? await scene.due(at: due).messages) ?? [] { found[message.seq] = message }
        }
        return found
    }

    private func content(_ message: AcceptedMessage) -> [UInt8] {
        var bytes = Array(message.message.app.name.utf8)
        MessageRecord.append(message.message, to: message.audience, needsClaim: message.needsClaim, &bytes)
        return bytes
    }

    private func flip(
        _ path: String, _ table: String, column: String, row: Int64, _ random: inout SeededRandom
    ) throws {
        let connection = try SQLiteConnection(path)
        // The statement is made of names of this file.
        let text = "SELECT CAST(\(column) AS BLOB), typeof(\(column)) FROM \(table) WHERE rowid = \(row)"
        var (bytes, type) = try Self.read(connection, text)
        bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
        if type == "integer" {
            // Only digits are numbers.
            bytes = Array("\(Int64(String(decoding: bytes, as: UTF8.self)) ?? 77)".utf8)
        }
        let hex = bytes.map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
        try connection.run("UPDATE \(table) SET \(column) = CAST(x'\(hex)' AS \(type)) WHERE rowid = \(row)")
    }

    private static func read(_ connection: SQLiteConnection, _ text: String) throws -> ([UInt8], String) {
        try connection.run("CREATE TEMP TABLE one AS \(text)")
        let rows = try connection.prepare("SELECT * FROM one")
        guard try rows.step() else { return ([], "") }
        let found = (rows.blob(0), rows.text(1))
        rows.reset()
        try connection.run("DROP TABLE one")
        return found
    }

    @Test(arguments: 1...16 as ClosedRange<UInt64>)
    func `A changed bit never changes what is sent`(seed: UInt64) async throws {
        try await withLedger { scene in
            var random = SeededRandom(seed: seed)
            let later = scene.now + 100
            let requests = (0..<6).map { push("m\($0)", to: [$0]) } + (6..<9).map { push("m\($0)", notBefore: later) }
            _ = await scene.accept(requests)
            let whole = Dictionary(uniqueKeysWithValues: scene.listener.messages.map { ($0.seq, $0) })
            #expect(whole.count == 9)
            await scene.ledger.close()
            let intact = try Data(contentsOf: URL(filePath: scene.path))
            for (table, names) in Self.columns.sorted(by: { $0.key < $1.key }) {
                for column in names {
                    for extra in ["", "-wal", "-shm"] {
                        try? FileManager.default.removeItem(atPath: scene.path + extra)
                    }
                    try intact.write(to: URL(filePath: scene.path))
                    let row: Int64 = table == "messages" ? 1 : 8
                    try flip(scene.path, table, column: column, row: row, &random)
                    try await scene.reopenOnly()
                    let found = await sent(scene, Array(1...9), due: .max)
                    for (seq, message) in found {
                        let before = try #require(whole[seq])
                        #expect(content(message) == content(before), "\(table).\(column), message \(seq)")
                    }
                    // The columns of single messages harm no other one.
                    if ["heads", "bodies", "sums"].contains(column) { #expect(found.count >= 7, "\(column)") }
                    if table == "scheduled" { #expect(found.keys.filter { $0 != 8 }.count == 8, "\(column)") }
                    await scene.ledger.close()
                }
            }
            try await scene.reopenOnly()
        }
    }

    /// Existing files contain this form.
    @Test func `The checksum of a message does not change`() {
        let sum = (1...20 as ClosedRange<UInt8>).map { $0 }.withUnsafeBytes {
            MessageChecksum.of(
                $0, seq: 5, place: 10, app: MessageChecksum.of(LedgerScene.shop),
                time: WallTime(milliseconds: 1_700_000_000_000))
        }
        #expect(sum == 240_002_887)
    }

    @Test func `Rows of earlier versions, without checksums, are sent`() async throws {
        try await withLedger { scene in
            let later = scene.now + 10
            _ = await scene.accept([push("a"), push("b"), push("later", notBefore: later)])
            await scene.ledger.close()
            do {
                let connection = try SQLiteConnection(scene.path)
                try connection.run("UPDATE messages SET sums = NULL; UPDATE scheduled SET sum = NULL")
            }
            try await scene.reopenOnly()
            #expect(try await scene.load([1, 2]).map(\.message.id.text) == ["a", "b"])
            #expect(try await scene.due(at: later).messages.map(\.message.id.text) == ["later"])
        }
    }
}
