import FoundationEssentials
import PushThread
import Testing

@testable import ActiveObject

/// Tests of rows from other programs with values that do not fit the properties.
@Suite struct UnreadableTests {
    enum Sex: String { case female, male }
    enum Level: Int { case low = 1 }

    private struct Entry: ActiveRecord {
        static let tableName = "entries"
        static var columns: [Column<Entry>] { [Column(\.secret, isPrivate: true)] }
        var objectId: Int64?
        var text: String?
        var small: Int8?
        var flag: Bool?
        var real: Double?
        var single: Float?
        var sex: Sex?
        var level: Level?
        var token: UUID?
        var list: [Int]?
        var bytes: Data?
        var letter: Character?
        var secret: Sex?
        var needed: String
    }

    private static let table = """
        CREATE TABLE entries (objectId INTEGER PRIMARY KEY, text, small, flag, real, single, sex, level, token, list, \
        bytes, letter, secret, needed)
        """

    @Test(arguments: [
        ("text", "x'00ff'", ActiveObjectError.Code.typeMismatch, ValueClass.blob, "2 bytes"),
        ("text", "5", .typeMismatch, .integer, "5"), ("text", "CAST(x'ff' AS TEXT)", .typeMismatch, .text, "UTF-8"),
        ("small", "128", .outOfRange, .integer, "128"), ("small", "'12'", .typeMismatch, .text, "\"12\""),
        ("small", "1.5", .typeMismatch, .real, "1.5"), ("flag", "2", .outOfRange, .integer, "2"),
        ("real", "'1.5'", .typeMismatch, .text, "\"1.5\""), ("single", "1e300", .outOfRange, .real, "1e+300"),
        ("sex", "'purple \"1\"'", .typeMismatch, .text, #""purple \"1\"""#), ("sex", "1", .typeMismatch, .integer, "1"),
        ("level", "2", .typeMismatch, .integer, "2"), ("token", "'none'", .typeMismatch, .text, "UUID"),
        ("list", "'[1, \"x\"]'", .typeMismatch, .text, "Array<Int>"), ("list", "'['", .typeMismatch, .text, "["),
        ("bytes", "'x'", .typeMismatch, .text, "\"x\""), ("letter", "'ab'", .typeMismatch, .text, "\"ab\""),
        ("letter", "''", .typeMismatch, .text, "Character"), ("needed", "NULL", .missingValue, .null, "NULL"),
    ])
    func `A value that cannot be read causes an error with table and column`(
        column: String, value: String, code: ActiveObjectError.Code, valueClass: ValueClass, problem: String
    ) async throws {
        let columns = column == "needed" ? "needed" : "\(column), needed"
        try await withFile([
            Self.table, "INSERT INTO entries (\(columns)) VALUES (\(value)\(column == "needed" ? "" : ", ''"))",
        ]) { database in
            let error = await thrownError { _ = try await Entry.find(1, in: database) }
            #expect(error?.code == code, "\(error?.message ?? "no error")")
            #expect(error?.table == "entries" && error?.column == column && error?.valueClass == valueClass)
            #expect(error?.message.contains(problem) == true, "\(error?.message ?? "no error")")
            let all = await thrownError { _ = try await Entry.findAll(in: database) }
            #expect(all?.column == column)
        }
    }

    @Test func `A long value is shortened in errors, and a private one is not shown`() async throws {
        try await withFile([
            Self.table, "INSERT INTO entries (sex, needed) VALUES ('\(String(repeating: "q", count: 500))', '')",
            "INSERT INTO entries (secret, needed) VALUES ('purple', '')",
        ]) { database in
            let long = await thrownError { _ = try await Entry.find(1, in: database) }
            #expect(long?.message.contains(String(repeating: "q", count: 40) + "\"…") == true)
            #expect(long?.message.contains(String(repeating: "q", count: 41)) == false)
            let hidden = await thrownError { _ = try await Entry.find(2, in: database) }
            #expect(hidden?.column == "secret" && hidden?.message.contains("purple") == false)
        }
    }

    // MARK: Partial records

    private static let alive = Locked(0)

    /// A class that counts its live instances.
    private final class Counted: Codable, Sendable {
        let number: Int
        init(from decoder: any Decoder) throws {
            number = try decoder.singleValueContainer().decode(Int.self)
            UnreadableTests.alive.withLock { $0 += 1 }
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(number)
        }
        deinit { UnreadableTests.alive.withLock { $0 -= 1 } }
    }

    private struct Pair: ActiveRecord {
        static let tableName = "pairs"
        var objectId: Int64?
        var name: String
        var first: Counted
        var second: Counted?
        var last: Int8
    }

    @Test func `A record that cannot be read completely leaves no objects behind`() async throws {
        try await withFile([
            "CREATE TABLE pairs (objectId INTEGER PRIMARY KEY, name, first TEXT, second TEXT, last)",
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700)
            INSERT INTO pairs SELECT i, 'a name that is too long to lie in the string itself', i, i, i = 600 OR NULL FROM n
            """, "UPDATE pairs SET last = CASE WHEN objectId = 600 THEN 'x' ELSE 1 END",
        ]) { database in
            _ = try await Pair.find(1, in: database)
            try await database.read { snapshot in
                let before = Self.alive.withLock(\.self)
                #expect(throws: ActiveObjectError.self) { try Pair.findAll(in: snapshot) }
                #expect(Self.alive.withLock(\.self) == before)
                #expect(throws: ActiveObjectError.self) { try Pair.find(600, in: snapshot) }
                #expect(Self.alive.withLock(\.self) == before)
                let one = try Pair.find(1, in: snapshot)
                #expect(Self.alive.withLock(\.self) == before + 2)
                withExtendedLifetime(one) {}
            }
            #expect(Self.alive.withLock(\.self) == 0)
        }
    }
}
