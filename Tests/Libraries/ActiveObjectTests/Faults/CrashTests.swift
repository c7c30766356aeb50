import Foundation
import TestSupport
import TestTraits
import Testing

@testable import ActiveObject

/// Repeatedly kills a process that writes transactions.
@Suite(.startsProgram) struct CrashTests {
    @Test(arguments: 1...10)
    func `Acknowledged transactions survive a kill, and no transaction is partial`(
        seed: UInt64
    ) async throws {
        try await withFolder { folder in
            var random = SeededRandom(seed: seed)
            let path = folder + "/crash.db"
            var next: Int64 = 0
            // Each round continues with the file that the previous kill left behind.
            for _ in 0..<5 {
                let acknowledged = try await killWriter(on: path, from: next, random: &random)
                let last = try await lastWholeTransaction(of: path)
                #expect(last >= acknowledged ?? next - 1)
                next = last + 1
            }
            #expect(next > 0)
        }
    }

    /// Returns the last number that the writer printed before it was killed.
    private func killWriter(on path: String, from first: Int64, random: inout SeededRandom) async throws -> Int64? {
        let here = ChildProcess.carillon.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let writer = try ChildProcess(
            here.joined(separator: "/") + "/Benchmarks", ["records-crash", "--file", path, "--from", "\(first)"])
        var last: Int64?
        // One kill in ten happens while the file is being opened.
        for _ in 0..<(Int.random(in: 0..<10, using: &random) == 0 ? 0 : Int.random(in: 1...40, using: &random)) {
            let line = try #require(try await writer.line(), "the writer ended by itself")
            last = Int64(line)
        }
        // The sleep only selects the moment.
        usleep(UInt32.random(in: 0..<3000, using: &random))  // timed: the moment of a kill is random
        writer.send(SIGKILL)
        let ended = try await writer.end()
        #expect(ended.status == 128 + SIGKILL, "\(ended.errors)")
        return ended.output.split(separator: "\n").last.flatMap { Int64($0) } ?? last
    }

    /// Checks all transactions, and returns the number of the last one; -1 if there is none.
    private func lastWholeTransaction(of path: String) async throws -> Int64 {
        let database = try await Database.open(path, name: nil)
        let damage = try await database.integrityCheck()
        #expect(damage == [])
        let (entries, sums) = try await database.read { snapshot in
            let tables = try snapshot.texts(of: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            guard tables.contains("crash_sums") else { return ([String](), [String]()) }
            return (
                try snapshot.texts(of: "SELECT number, part, length(payload) FROM crash_entries ORDER BY objectId"),
                try snapshot.texts(of: "SELECT number, parts, checksum FROM crash_sums ORDER BY objectId")
            )
        }
        var found: [(number: Int64, parts: Int, checksum: Int64)] = []
        for entry in entries {
            let values = entry.split(separator: "|").compactMap { Int64($0) }
            try #require(values.count == 3)
            if found.last?.number != values[0] { found.append((values[0], 0, 0)) }
            let index = found.count - 1
            #expect(found[index].parts == values[1])
            found[index].parts += 1
            found[index].checksum = (found[index].checksum &+ values[2]) &* 31
        }
        #expect(found.map { "\($0.number)|\($0.parts)|\($0.checksum)" } == sums)
        #expect(found.map(\.number) == Array(0..<Int64(found.count)))
        await database.close()
        return Int64(found.count) - 1
    }
}
