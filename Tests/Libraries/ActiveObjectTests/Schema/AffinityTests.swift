import FoundationEssentials
import Testing

@testable import ActiveObject

@Suite struct AffinityTests {
    @Test(arguments: [
        ("INT", Affinity.integer), ("tinyint(4)", .integer), ("POINT", .integer), ("CHARINT", .integer),
        ("VARCHAR(20)", .text), ("nchar", .text), ("CLOB", .text), ("TEXT", .text), ("", .none), ("BLOB", .none),
        ("REAL", .real), ("double precision", .real), ("FLOAT", .real), ("DECIMAL(10,2)", .numeric),
        ("DATETIME", .numeric), ("BOOLEAN", .numeric), ("STRING", .numeric), ("JSON", .numeric),
    ])
    func `A declared type has SQLite's affinity`(type: String, affinity: Affinity) async throws {
        #expect(Affinity(declaredType: type, isStrict: false) == affinity)
        // SQLite must behave the same for values.
        try await withFolder { folder in
            let path = folder + "/test.db"
            try prepareFile(
                path,
                with: [
                    "CREATE TABLE t (a \(type))", "INSERT INTO t VALUES (7), ('7'), ('x'), (0.5), (x'00')",
                ])
            let kept = try look(into: path, "SELECT group_concat(typeof(a), ' ') FROM t")[0][0]
            let expected =
                switch affinity {
                case .integer, .numeric: "integer integer text real blob"
                case .real: "real real text real blob"
                case .text: "text text text text blob"
                case .none, .strict: "integer text text real blob"
                }
            #expect(kept == expected)
        }
    }

    @Test(arguments: [
        SQLValue.null, 0, .integer(.min), .integer(.max), 1.5, .real(-.infinity), .real(.infinity),
        .real(.leastNonzeroMagnitude), "",
        "it's", "it'\u{301}s", "🦉\n\"", .blob(Data()), .blob(Data([0, 0x7f, 0xff])),
    ])
    func `The SQL literal of a default has the same value`(value: SQLValue) throws {
        let connection = try Connection(path: ":memory:", mode: .readWrite(creates: true))
        defer { connection.close() }
        let literal = try #require(value.literal)
        #expect(try connection.rows("SELECT \(literal)") { $0[0] } == [value])
        try connection.run("CREATE TABLE t (a)")
        try connection.run("INSERT INTO t VALUES (1)")
        try connection.run("ALTER TABLE t ADD COLUMN b DEFAULT \(literal)")
        #expect(try connection.rows("SELECT b FROM t") { $0[0] } == [value])
    }

    @Test func `A value without an SQL literal cannot be a default`() {
        #expect(SQLValue.real(.nan).literal == nil)
        #expect(SQLValue.text("a\u{0}b").literal == nil)
    }
}
