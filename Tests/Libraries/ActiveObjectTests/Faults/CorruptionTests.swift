import Foundation
import TestSupport
import TestTraits
import Testing

@testable import ActiveObject

@Suite struct CorruptionTests {
    private static let count = 400

    /// The bytes of a database with an index: the file and its log.
    private func make(logged: Bool) async throws -> (file: [UInt8], log: [UInt8]) {
        try await withFolder { folder in
            var options = Database.Options()
            options.checkpointPages = 0
            let path = folder + "/a.db"
            let database = try await Database.open(path, name: nil, options: options)
            try await database.write { transaction in
                _ = try Jot.findAll(in: transaction)
                _ = try transaction.texts(of: "CREATE INDEX i ON jots (text)")
            }
            try await database.checkpoint(.truncate)
            for number in 0..<Self.count {
                var note = Jot("note \(number)")
                if logged || number == 0 {
                    try await note.save(in: database)
                } else {
                    var jots = (number..<Self.count).map { Jot("note \($0)") }
                    try await jots.saveAll(in: database)
                    break
                }
            }
            if !logged { try await database.checkpoint(.truncate) }
            let file = [UInt8](try Data(contentsOf: URL(filePath: path)))
            // Skip empty data, because Foundation leaks the buffer for it.
            let log = logged ? [UInt8](try Data(contentsOf: URL(filePath: path + "-wal"))) : []
            await database.close()
            return (file, log)
        }
    }

    private func write(_ file: [UInt8], log: [UInt8], in folder: String) throws -> String {
        let path = folder + "/a.db"
        for end in ["", "-wal", "-shm"] { unlink(path + end) }
        try Data(file).write(to: URL(filePath: path))
        if !log.isEmpty { try Data(log).write(to: URL(filePath: path + "-wal")) }
        return path
    }

    /// Changes, removes and repeats bytes. Reading must return data or an error, and never end the process.
    @Test func `A damaged file yields data or an error and never a crash`() async throws {
        let (file, _) = try await make(logged: false)
        var random = SeededRandom(seed: 5)
        var codes: [ActiveObjectError.Code: Int] = [:]
        try await withFolder { folder in
            for round in 0..<RunKind.rounds(120) {
                var bytes = file
                switch round % 4 {
                case 0: bytes[Int.random(in: 0..<100, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
                case 1:
                    // Damage the header of a page, which lists its cells.
                    let page = Int.random(in: 0..<file.count / 4096, using: &random) * 4096
                    for _ in 0..<8 {
                        bytes[page + Int.random(in: 0..<200, using: &random)] = UInt8.random(
                            in: 0...255, using: &random)
                    }
                case 2: bytes.removeLast(Int.random(in: 1..<file.count, using: &random))
                default: bytes = random.mutate(bytes, chance: 1)
                }
                let path = try write(bytes, log: [], in: folder)
                do {
                    let database = try await Database.open(path, name: nil)
                    do {
                        _ = try await database.texts()
                        var note = Jot("more")
                        try await note.save(in: database)
                        _ = try await database.texts(of: "SELECT text FROM jots INDEXED BY i ORDER BY text")
                        _ = try await database.integrityCheck()
                    } catch let error as ActiveObjectError {
                        codes[error.code, default: 0] += 1
                        #expect(!error.message.contains("note "))
                    }
                    await database.close()
                } catch let error as ActiveObjectError {
                    codes[error.code, default: 0] += 1
                }
            }
        }
        #expect(codes[.corrupt, default: 0] > RunKind.rounds(20), "\(codes)")
    }

    /// Complete transactions before the first damaged page of the log are kept; later ones are lost.
    @Test(arguments: [false, true]) func `A torn or damaged log loses only the transactions after the damage`(
        torn: Bool
    ) async throws {
        let (file, log) = try await make(logged: true)
        try #require(log.count > 100_000)
        var random = SeededRandom(seed: 6)
        var counts: [Int] = []
        try await withFolder { folder in
            for _ in 0..<40 {
                let offset = Int.random(in: 0..<log.count, using: &random)
                var bytes = log
                if torn {
                    bytes.removeLast(log.count - offset)
                } else {
                    bytes[offset] ^= UInt8.random(in: 1...255, using: &random)
                }
                let database = try await Database.open(try self.write(file, log: bytes, in: folder), name: nil)
                let texts = try await database.texts()
                #expect(texts == (0..<texts.count).map { "note \($0)" })
                counts.append(texts.count)
                var note = Jot("more")
                try await note.save(in: database)
                #expect(try await database.integrityCheck() == [])
                await database.close()
            }
        }
        #expect(Set(counts).count > 10, "\(counts)")
    }

    @Test func `Removing the file of an open database is reported`() async throws {
        try await withFolder { folder in
            let path = folder + "/a.db"
            let database = try await Database.open(path, name: nil)
            var note = Jot("kept")
            try await note.save(in: database)
            unlink(path)
            // An open database continues to work or reports that the file has moved. It must not save to another file.
            let outcome = await thrownCode { try await note.save(in: database) }
            #expect(outcome == nil || outcome == .readOnly)
            await database.close()
            #expect(access(path, F_OK) != 0)
        }
    }
}
