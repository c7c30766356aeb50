import PushSQLite
import Testing

/// Compares the texts that `SQLiteFailure+Text.swift` expects with those of the installed library.
@Suite struct FailureTextTests {
    private static let schema = """
        CREATE TABLE parents (id INTEGER PRIMARY KEY);
        CREATE TABLE children (parent INTEGER REFERENCES parents (id) ON DELETE RESTRICT);
        CREATE TABLE plain (parent INTEGER REFERENCES parents (id));
        CREATE TABLE numbers (number INTEGER NOT NULL, other INTEGER) STRICT;
        CREATE TABLE pairs (a, b, UNIQUE (a, b));
        INSERT INTO pairs VALUES (1, 2);
        CREATE UNIQUE INDEX halves ON numbers (number / 2);
        CREATE VIEW broken AS SELECT * FROM nowhere;
        CREATE TRIGGER says BEFORE DELETE ON numbers BEGIN SELECT RAISE(ABORT, 'integer overflow'); END;
        INSERT INTO parents VALUES (1), (2);
        INSERT INTO children VALUES (1);
        INSERT INTO numbers VALUES (9223372036854775807, 1), (3, 1);
        """

    private func failure(of sql: String) throws -> SQLiteFailure {
        let database = try DatabaseHandle(path: ":memory:", mode: .readWrite(creates: true))
        try database.execute("PRAGMA foreign_keys = 1")
        try database.execute(Self.schema)
        return try #require(throws: SQLiteFailure.self) { try database.execute(sql) }
    }

    @Test func `A reference to a missing row is recognized`() throws {
        #expect(try failure(of: "INSERT INTO plain VALUES (9)").code == .foreignKey)
        #expect(try failure(of: "INSERT INTO plain VALUES (9)").isBrokenReference)
        #expect(try !failure(of: "INSERT INTO numbers VALUES (NULL, 1)").isBrokenReference)
    }

    @Test func `A row that RESTRICT protects is recognized, although it has the code of a trigger`() throws {
        let restricted = try failure(of: "DELETE FROM parents WHERE id = 1")
        #expect(restricted.code == .trigger || restricted.code == .foreignKey)
        #expect(restricted.isBrokenReference)
        #expect(try !failure(of: "DELETE FROM numbers").isBrokenReference)
    }

    @Test(arguments: [
        ("SELECT * FROM nowhere", true), ("SELECT name FROM numbers", true), ("SELECT * FROM broken", true),
        ("DROP TABLE nowhere", true), ("SELECT number FROM", false), ("SELECT nothing()", false),
    ]) func `SQL that names a missing table or column is recognized`(sql: String, expected: Bool) throws {
        let failure = try self.failure(of: sql)
        #expect(failure.code == .error)
        #expect(failure.isMissingName == expected, "\(failure.message)")
    }

    @Test(arguments: [
        ("SELECT sum(number) FROM numbers", true), ("SELECT abs(-9223372036854775808)", true),
        ("DELETE FROM numbers", false), ("SELECT json('{')", false),
    ]) func `An overflow of integers is recognized`(sql: String, expected: Bool) throws {
        let failure = try self.failure(of: sql)
        #expect(failure.isIntegerOverflow == expected, "\(failure.message)")
    }

    private static let constraints: [(sql: String, code: ResultCode, columns: String?)] = [
        ("INSERT INTO numbers VALUES (NULL, 1)", .notNull, "numbers.number"),
        ("INSERT INTO numbers VALUES ('a', 1)", .dataType, "numbers.number"),
        ("INSERT INTO parents VALUES (1)", .primaryKey, "parents.id"),
        ("INSERT INTO pairs VALUES (1, 2)", .unique, "pairs.a, pairs.b"),
        ("INSERT INTO numbers VALUES (2, 1)", .unique, nil), ("SELECT nothing()", .error, nil),
    ]

    @Test(arguments: constraints) func `The columns of a broken constraint are found`(
        sql: String, code: ResultCode, columns: String?
    ) throws {
        let failure = try self.failure(of: sql)
        #expect(failure.code == code)
        #expect(failure.constrainedColumns == columns, "\(failure.message)")
    }
}
