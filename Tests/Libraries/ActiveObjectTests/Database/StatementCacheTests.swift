import Testing

@testable import ActiveObject

@Suite struct StatementCacheTests {
    private func connection() throws -> Connection {
        try Connection(path: ":memory:", mode: .readWrite(creates: true))
    }

    @Test func `The most recently used statements are cached`() throws {
        let connection = try connection()
        let often = try connection.take("SELECT 'often'")
        connection.giveBack(often)
        let lent = try connection.take("SELECT 'lent'")
        for number in 0..<500 {
            connection.giveBack(try connection.take("SELECT \(number)"))
            let again = try connection.take("SELECT 'often'")
            #expect(again === often)
            connection.giveBack(again)
        }
        #expect(connection.cachedStatementCount == StatementCache.limit)
        // This statement is the oldest, but it is in use.
        connection.giveBack(lent)
        let again = try connection.take("SELECT 'lent'")
        #expect(again === lent)
        connection.giveBack(again)
    }

    @Test func `Long SQL is not cached, and the total size of the cache is bounded`() throws {
        let connection = try connection()
        let long = "SELECT '\(String(repeating: "x", count: StatementCache.textLimit))'"
        for _ in 0..<2 {
            #expect(try connection.texts(of: long).first?.count == StatementCache.textLimit)
            #expect(connection.cachedStatementCount == 0)
        }
        let count = StatementCache.byteLimit / 50_000
        for number in 0..<100 {
            let text = "SELECT '\(String(repeating: "x", count: 50_000))', \(number)"
            _ = try connection.texts(of: text)
            #expect(connection.cachedStatementCount <= count)
        }
        #expect(connection.cachedStatementCount == count)
        // Removed statements are subtracted from the size.
        connection.dropStatements()
        for number in 0..<100 { _ = try connection.texts(of: "SELECT \(number)") }
        #expect(connection.cachedStatementCount == 100)
    }

    @Test func `More lent statements than the cache holds all work and are released`() throws {
        let connection = try connection()
        let lent = try (0..<300).map { try connection.take("SELECT \($0)") }
        for (number, statement) in lent.enumerated() {
            #expect(try statement.step())
            #expect(try statement.integer(0) == Int64(number))
        }
        for statement in lent { connection.giveBack(statement) }
        connection.giveBack(try connection.take("SELECT 'one more'"))
        #expect(connection.cachedStatementCount == StatementCache.limit)
    }

    @Test func `A second caller of a lent statement gets a new one`() throws {
        let connection = try connection()
        let sql = "SELECT value FROM json_each('[1,2,3]')"
        try connection.withStatement(sql) { outer in
            var seen: [String] = []
            while try outer.step() {
                let inner = try connection.texts(of: sql)
                seen.append("\(try outer.integer(0)): \(inner.joined())")
            }
            #expect(seen == ["1: 123", "2: 123", "3: 123"])
        }
        #expect(connection.cachedStatementCount == 1)
    }

    /// `String` compares these as equal; SQLite does not.
    @Test func `Canonically equivalent SQL texts are two statements`() throws {
        let connection = try connection()
        #expect(try connection.texts(of: "SELECT length('\u{e9}')") == ["1"])
        #expect(try connection.texts(of: "SELECT length('e\u{301}')") == ["2"])
    }

    @Test(arguments: [
        "", " ; -- nothing", "SELECT 1; SELECT 2", "SELECT 1; é", "SELECT 1\u{0}", "SELECT 1; )", "SELEKT",
    ])
    func `SQL that is not exactly one statement is rejected`(sql: String) throws {
        let connection = try connection()
        #expect { try connection.texts(of: sql) } throws: { ($0 as? ActiveObjectError)?.code == .badSQL }
    }

    @Test(arguments: ["SELECT 1;", "SELECT 1 ; -- done", "SELECT 1 /* é */ ;;\n\t/* end", "-- first\nSELECT 1"])
    func `Whitespace and comments after a statement are accepted`(sql: String) throws {
        #expect(try connection().texts(of: sql) == ["1"])
    }

    @Test func `A cached statement uses the current columns after the table changes`() throws {
        let connection = try connection()
        try connection.run("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        #expect(try connection.texts(of: "SELECT * FROM t") == ["1"])
        try connection.run("ALTER TABLE t ADD COLUMN b DEFAULT 2")
        #expect(try connection.texts(of: "SELECT * FROM t") == ["1|2"])
        try connection.run("DROP TABLE t; CREATE TABLE t (a, b, c)")
        #expect(try connection.texts(of: "SELECT * FROM t") == [])
        try connection.run("DROP TABLE t")
        #expect(throws: ActiveObjectError.self) { try connection.texts(of: "SELECT * FROM t") }
    }
}
