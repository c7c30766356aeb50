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
        let says: String

        init(
            _ sql: String, _ code: ActiveObjectError.Code, _ table: String? = nil, _ column: String? = nil, says: String
        ) {
            (self.sql, self.code, self.table, self.column, self.says) = (sql, code, table, column, says)
        }

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
            "INSERT INTO people (name, a, b) VALUES ('n', 'secret', 'x')", .notUnique, "people", "a, b",
            says: "people.a, b"),
        Case("INSERT INTO people (id, name) VALUES (1, 'n')", .notUnique, "people", "id", says: "people.id"),
        Case("INSERT INTO people (name) VALUES ('SECRET')", .notUnique, says: "index 'people_lower'"),
        Case(
            "INSERT INTO \"odd.na\"\"me, x\" (\"a.b, c\") VALUES ('secret')", .notUnique, "odd.na\"me, x", "a.b, c",
            says: "a.b, c"),
        Case("INSERT INTO \"odd.na\"\"me, x\" (d) VALUES (2)", .notUnique, "odd.na\"me, x", "it's, d", says: "it's, d"),
        Case("INSERT INTO keyed VALUES ('secret')", .notUnique, "keyed", "k", says: "keyed.k"),
        Case(
            "INSERT INTO people (age) VALUES (30)", .missingValue, "people", "name", says: "people.name needs a value"),
        Case(
            "INSERT INTO \"odd.na\"\"me, x\" (\"it's\") VALUES (NULL)", .missingValue, "odd.na\"me, x", "it's",
            says: "it's needs a value"),
        Case("INSERT INTO people (name, age) VALUES ('n', 12)", .checkFailed, says: "adult"),
        Case("INSERT INTO people (name, parent) VALUES ('n', 99)", .brokenReference, says: "referred to"),
        Case(
            "INSERT INTO people (name, age) VALUES ('n', 'secret')", .typeMismatch, "people", "age",
            says: "TEXT value in INTEGER column"),
        Case("DELETE FROM people", .checkFailed, says: "people stay"),
        Case("INSERT INTO plain (id) VALUES ('secret')", .typeMismatch, says: "datatype mismatch"),
        Case("SELECT * FROM nowhere", .badSQL, says: "no such table: nowhere"),
        Case("SELECT 'secret' FROM", .badSQL, says: "incomplete input"),
        Case("SELECT \"name2\" FROM people", .badSQL, says: "no such column"),
        Case("BEGIN", .badSQL, says: "`write`"),
        Case("SELECT zeroblob(2000000000)", .outOfRange, says: "longer than SQLite allows"),
        Case("SELECT abs(-9223372036854775808)", .badSQL, says: "integer overflow"),
        Case("SELECT load_extension('secret')", .badSQL, says: "not authorized"),
        Case("SELECT 1 WHERE 1 'secret'", .badSQL, says: "near \"…\": syntax error"),
        Case("SELECT 1 WHERE a = 'secret", .badSQL, says: "unrecognized token"),
        Case("SELECT 1 WHERE 1 4secret", .badSQL, says: "unrecognized token"),
        Case("SELECT json_extract('{}', 'secret')", .badSQL, says: "'…'"),
        Case("PRAGMA foreign_keys = 0", .badSQL, says: "not authorized"),
        Case("PRAGMA synchronous = 0", .badSQL, says: "not authorized"),
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
        #expect(error?.message.contains(one.says) == true, "\(error?.message ?? "")")
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
                ResultCode(rawValue: Int32(code)), systemError: Int32(systemError), message: "said"),
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
