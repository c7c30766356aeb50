import PushSQLite
import Testing

@testable import ActiveObject

@Suite struct ErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let sql: String
        let code: ActiveObjectError.Code
        var table: String?
        var column: String?
        /// A text that the message must contain.
        let message: String

        var testDescription: String { sql }
    }

    private static let schema = """
        CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER, a TEXT, b TEXT,
            parent INTEGER REFERENCES people (id),
            CONSTRAINT adult CHECK (age > 17), CHECK (b != 'secret'), UNIQUE (a, b)) STRICT;
        CREATE UNIQUE INDEX people_lower ON people (lower(name));
        CREATE TABLE "odd.na""me, x" ("a.b, c" UNIQUE, "it's" NOT NULL DEFAULT 1, d, UNIQUE ("it's", d));
        CREATE TABLE keyed (k TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE plain (id INTEGER PRIMARY KEY, v);
        CREATE TRIGGER refused BEFORE DELETE ON people BEGIN SELECT RAISE(ABORT, 'people stay'); END;
        INSERT INTO people (id, name, age, a, b) VALUES (1, 'secret', 20, 'secret', 'x');
        INSERT INTO "odd.na""me, x" VALUES ('secret', 1, 2);
        INSERT INTO keyed VALUES ('secret');
        INSERT INTO plain VALUES (1, 1)
        """

    static let cases = [
        Case(
            sql: "INSERT INTO people (name, a, b) VALUES ('n', 'secret', 'x')", code: .notUnique, table: "people",
            column: "a, b",
            message: "people.a, b"),
        Case(
            sql: "INSERT INTO people (id, name) VALUES (1, 'n')", code: .notUnique, table: "people", column: "id",
            message: "people.id"),
        Case(sql: "INSERT INTO people (name) VALUES ('SECRET')", code: .notUnique, message: "index 'people_lower'"),
        Case(
            sql: "INSERT INTO \"odd.na\"\"me, x\" (\"a.b, c\") VALUES ('secret')", code: .notUnique,
            table: "odd.na\"me, x", column: "a.b, c",
            message: "a.b, c"),
        Case(
            sql: "INSERT INTO \"odd.na\"\"me, x\" (d) VALUES (2)", code: .notUnique, table: "odd.na\"me, x",
            column: "it's, d", message: "it's, d"),
        Case(
            sql: "INSERT INTO keyed VALUES ('secret')", code: .notUnique, table: "keyed", column: "k",
            message: "keyed.k"),
        Case(
            sql: "INSERT INTO people (age) VALUES (30)", code: .missingValue, table: "people", column: "name",
            message: "people.name needs a value"),
        Case(
            sql: "INSERT INTO \"odd.na\"\"me, x\" (\"it's\") VALUES (NULL)", code: .missingValue,
            table: "odd.na\"me, x", column: "it's",
            message: "it's needs a value"),
        Case(sql: "INSERT INTO people (name, age) VALUES ('n', 12)", code: .checkFailed, message: "adult"),
        Case(sql: "INSERT INTO people (name, parent) VALUES ('n', 99)", code: .brokenReference, message: "referred to"),
        Case(
            sql: "INSERT INTO people (name, age) VALUES ('n', 'secret')", code: .typeMismatch, table: "people",
            column: "age",
            message: "TEXT value in INTEGER column"),
        Case(sql: "DELETE FROM people", code: .checkFailed, message: "people stay"),
        Case(sql: "INSERT INTO plain (id) VALUES ('secret')", code: .typeMismatch, message: "datatype mismatch"),
        Case(sql: "SELECT * FROM nowhere", code: .badSQL, message: "no such table: nowhere"),
        Case(sql: "SELECT 'secret' FROM", code: .badSQL, message: "incomplete input"),
        Case(sql: "SELECT \"name2\" FROM people", code: .badSQL, message: "no such column"),
        Case(sql: "BEGIN", code: .badSQL, message: "`write`"),
        Case(sql: "SELECT zeroblob(2000000000)", code: .outOfRange, message: "longer than SQLite allows"),
        Case(sql: "SELECT abs(-9223372036854775808)", code: .badSQL, message: "integer overflow"),
        Case(sql: "SELECT load_extension('secret')", code: .badSQL, message: "not authorized"),
        Case(sql: "SELECT 1 WHERE 1 'secret'", code: .badSQL, message: "near \"…\": syntax error"),
        Case(sql: "SELECT 1 WHERE a = 'secret", code: .badSQL, message: "unrecognized token"),
        Case(sql: "SELECT 1 WHERE 1 4secret", code: .badSQL, message: "unrecognized token"),
        Case(sql: "SELECT json_extract('{}', 'secret')", code: .badSQL, message: "'…'"),
        Case(sql: "PRAGMA foreign_keys = 0", code: .badSQL, message: "not authorized"),
        Case(sql: "PRAGMA synchronous = 0", code: .badSQL, message: "not authorized"),
    ]

    @Test(arguments: cases) func `An SQLite error is mapped to a code, a table, a column and a message`(one: Case)
        throws
    {
        let connection = try Connection(path: ":memory:", mode: .readWrite(creates: true))
        try connection.run(Self.schema)
        try connection.control("PRAGMA foreign_keys = 1")
        let error = #expect(throws: ActiveObjectError.self) { try connection.texts(of: one.sql) }
        #expect(error?.code == one.code, "\(error?.message ?? "")")
        #expect(error?.table == one.table)
        #expect(error?.column == one.column)
        #expect(error?.message.contains(one.message) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("secret") == false, "\(error?.message ?? "")")
        #expect(error?.resultCode != nil)
    }

    @Test(arguments: [
        (7, 0, ActiveObjectError.Code.outOfMemory), (8, 0, .readOnly), (8 | 4 << 8, 0, .readOnly),
        (8 | 5 << 8, 0, .cannotOpen),
        (10, 0, .inputOutput),
        (10 | 3 << 8, 28, .diskFull), (10 | 3 << 8, 27, .diskFull), (10 | 12 << 8, 0, .outOfMemory),
        (10 | 32 << 8, 0, .corrupt), (10 | 33 << 8, 0, .corrupt), (11, 0, .corrupt), (11 | 1 << 8, 0, .corrupt),
        (26, 0, .corrupt), (13, 0, .diskFull), (14, 13, .cannotOpen), (14 | 2 << 8, 21, .cannotOpen),
        (3, 0, .cannotOpen),
        (22, 0, .cannotOpen), (5, 0, .busy), (5 | 1 << 8, 0, .busy), (5 | 2 << 8, 0, .busy), (6, 0, .busy),
        (15, 0, .busy),
        (17, 0, .busy), (9, 0, .interrupted), (4 | 2 << 8, 0, .other), (18, 0, .outOfRange), (20, 0, .typeMismatch),
        (21, 0, .badSQL), (25, 0, .badSQL), (23, 0, .badSQL), (19, 0, .checkFailed), (19 | 9 << 8, 0, .checkFailed),
        (2, 0, .other), (99, 0, .other),
    ]) func `Each result code is mapped to a code and a message with the file`(
        code: Int, systemError: Int, expected: ActiveObjectError.Code
    ) {
        let error = ActiveObjectError(
            SQLiteFailure(
                ResultCode(rawValue: Int32(code)), systemError: Int32(systemError), message: "reason"),
            action: "save", path: "/x/a.db", sql: "SELECT 1"
        ) { _, _ in false }
        #expect(error.code == expected)
        #expect(error.resultCode == Int32(code))
        #expect(error.message.hasPrefix("cannot save: "))
    }

    @Test(arguments: [
        (
            "SELECT * FROM t WHERE a = 'it''s' AND b = ?1 AND c = 12.5 AND d1 = x'ab'",
            "SELECT * FROM t WHERE a = '…' AND b = ?1 AND c = … AND d1 = x'…'"
        ),
        ("SELECT \"it's\", [a'b], `c'd` FROM t2 LIMIT 10", "SELECT \"it's\", [a'b], `c'd` FROM t2 LIMIT …"),
        ("SELECT 'never ends", "SELECT '…'"),
        ("SELECT \"open", "SELECT \"open\""),
    ]) func `SQL in errors is shown without literals`(sql: String, shown: String) {
        #expect(sql.shownSQL == shown)
    }

    @Test func `A value that cannot be read causes an error that does not show it`() throws {
        let connection = try Connection(path: ":memory:", mode: .readWrite(creates: true))
        let sql = "SELECT CAST(x'737eff' AS TEXT), 'secret'"
        let text = #expect(throws: ActiveObjectError.self) {
            try connection.withStatement(sql) { statement in
                _ = try statement.step()
                return try statement.text(0)
            }
        }
        #expect(text?.code == .typeMismatch && text?.message.contains("not UTF-8") == true)
        let number = #expect(throws: ActiveObjectError.self) {
            try connection.withStatement(sql) { statement in
                _ = try statement.step()
                return try statement.integer(1)
            }
        }
        #expect(number?.code == .typeMismatch && number?.message.contains("secret") == false)
    }

    private struct Careless: ActiveRecord {
        var objectId: Int64?
        static func sql(for operation: RecordOperation, standard: String) -> String {
            operation == .find ? "SELECT objectId FROM carelesses" : standard
        }
    }

    @Test func `An override without a parameter for the key causes an error that says so`() async throws {
        try await withDatabase { database in
            let error = await thrownError { _ = try await Careless.find(1, in: database) }
            #expect(error?.code == .badSQL && error?.message.contains("?1") == true)
        }
    }

    @Test func `Long SQL is shortened in errors`() {
        #expect(String(repeating: "SELECT a, ", count: 1000).shownSQL.count < 420)
    }
}
