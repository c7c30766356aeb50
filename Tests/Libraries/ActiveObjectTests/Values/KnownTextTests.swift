import TestSupport
import Testing

@testable import ActiveObject

/// Tests of enums whose texts are cached: a cached text must not be confused with another one.
@Suite struct KnownTextTests {
    /// Texts of each length that has its own code path, with neighbors that differ in one byte or in length.
    enum Word: String, CaseIterable {
        case none = ""
        case a, b
        case nul = "\0"
        case aNul = "a\0"
        case aa, ab, ba, aab, aba, baa, aaa, aaaa, aaab, baaa, aaaaa, abaaa, aaaaaaa, aaabaaa
        case aaaaaaaa, aaaaaaab, aaaaaaaaa, abcdefghabcdefg, abcdefghabcdefh, bbcdefghabcdefg
        case abcdefghabcdefgh, abcdefghabcdefgi
        case accent = "é"
    }

    /// The same texts with other values.
    enum Turned: String, CaseIterable {
        case baa, aaaa, ab, b, a
        case none = ""
    }

    enum Only: String { case one }

    private struct Entry: ActiveRecord, Equatable {
        static let tableName = "entries"
        var objectId: Int64?
        var word: Word
        var turned: Turned
        var maybe: Turned?
        var only = Only.one
    }

    private static func entries(_ count: Int) -> [Entry] {
        var random = SeededRandom(seed: 4)
        return (0..<count).map { _ in
            Entry(
                word: Word.allCases.randomElement(using: &random)!,
                turned: Turned.allCases.randomElement(using: &random)!,
                maybe: Bool.random(using: &random) ? Turned.allCases.randomElement(using: &random) : nil)
        }
    }

    @Test func `Each text is mapped to its value in any order`() async throws {
        try await withDatabase { database in
            let saved = try await database.write { transaction in
                var entries = Self.entries(2000)
                try entries.saveAll(in: transaction)
                return entries
            }
            let found = try await Entry.findAll(in: database)
            #expect(found == saved)
            for entry in saved.prefix(100) {
                let one = try await Entry.find(entry.objectId!, in: database)
                #expect(one == entry)
            }
            let texts = try look(into: database.path, "SELECT word, turned, maybe FROM entries ORDER BY objectId")
            #expect(
                texts == saved.map { [$0.word.rawValue, $0.turned.rawValue, $0.maybe?.rawValue ?? "NULL"] })
        }
    }

    @Test(arguments: [
        ("CAST(x'6100000000' AS TEXT)", ActiveObjectError.Code.typeMismatch), ("'bb'", .typeMismatch),
        ("'abaa'", .typeMismatch), ("'aaaaaaaaaa'", .typeMismatch), ("'abcdefghabcdefgg'", .typeMismatch),
        ("x'61'", .typeMismatch), ("x''", .typeMismatch), ("1", .typeMismatch), ("NULL", .missingValue),
        ("CAST(x'ff' AS TEXT)", .typeMismatch),
    ])
    func `An unknown raw text is an error, regardless of the cache`(
        value: String, code: ActiveObjectError.Code
    ) async throws {
        let words = ["''", "'a'", "'aa'", "'ab'", "'aaa'", "'aaaa'", "'aaaaaaaa'", "'aaaaaaaaa'", "'abcdefghabcdefg'"]
        try await withFile(
            ["CREATE TABLE entries (objectId INTEGER PRIMARY KEY, word, turned, maybe, only)"]
                + (words + words + [value]).map {
                    "INSERT INTO entries (word, turned, only) VALUES (\($0), 'a', 'one')"
                }
        ) { database in
            let error = await thrownError { _ = try await Entry.findAll(in: database) }
            #expect(error?.code == code && error?.column == "word", "\(error?.message ?? "no error")")
            let readable = try await Entry.find(Int64(words.count), in: database)
            #expect(readable?.word == .abcdefghabcdefg)
        }
    }

    @Test func `Different short texts are not equal`() {
        func short(_ bytes: [UInt8]) -> ShortText? {
            unsafe bytes.withUnsafeBytes {
                unsafe ShortText($0.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!, count: $0.count)
            }
        }
        for count in 0...15 {
            // All texts over an alphabet of two bytes, or of three for short texts.
            let letters: [UInt8] = count < 8 ? [0, 97, 255] : [97, 98]
            var texts: [[UInt8]] = [[]]
            for _ in 0..<count { texts = texts.flatMap { text in letters.map { text + [$0] } } }
            #expect(Set(texts.map(short)).count == texts.count)
        }
        #expect(Set((0...15).map { short([UInt8](repeating: 0, count: $0)) }).count == 16)
        #expect(short([UInt8](repeating: 97, count: 16)) == nil)
    }
}
