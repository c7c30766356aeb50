import ActiveObject
import Foundation
import Testing

@Suite struct RawSQLTests {
    private func people(_ database: Database) async throws {
        var people = [
            Person(name: "Joe", age: 42, sex: .male, income: 1.5, birthdate: Date(timeIntervalSinceReferenceDate: 0.5)),
            Person(name: "Ann", age: 17),
        ]
        try await people.saveAll(in: database)
    }

    @Test func `Values are bound by index and by name`() async throws {
        try await withDatabase { database in
            try await people(database)
            let sql = "SELECT name FROM persons WHERE age > ? AND name <> ?"
            #expect(
                try await database.rows(sql, arguments: [18, "x'; DROP TABLE persons; --"]).map { $0["name"] } == [
                    "Joe"
                ])
            let named = "SELECT name FROM persons WHERE age > :age AND age < @top"
            #expect(try await database.rows(named, arguments: [":age": 1, "@top": 18]).map { $0[0] } == ["Ann"])
            #expect(try await database.rows(named, arguments: ["age": 1, "@top": 18]).count == 1)
            let age = 42
            #expect(
                try await database.rows("SELECT ?1 + ?1 AS twice", arguments: [SQLValue(age)]).first?["twice"] == 84)
            let wrong: [(String, SQLArguments)] = [
                (sql, []), (sql, [1]), (sql, [1, "a", 3]), (sql, ["age": 1]), (named, [":age": 1]),
                (named, [":age": 1, "@top": 2, "$more": 3]), (named, [":age": 1, "age": 1]), ("SELECT 1", [1]),
            ]
            for (sql, arguments) in wrong {
                let error = await #expect(throws: ActiveObjectError.self) {
                    try await database.rows(sql, arguments: arguments)
                }
                #expect(error?.code == .badSQL, "\(arguments)")
            }
        }
    }

    @Test func `A row converts its values and names a column that does not fit`() async throws {
        try await withDatabase { database in
            try await people(database)
            let rows = try await database.rows(
                "SELECT *, 300 AS big, x'00' AS bytes, 'nobody' AS who, 1e300 AS huge, 9e999 AS endless FROM persons")
            let joe = try #require(rows.first)
            #expect(try joe["name", as: String.self] == "Joe")
            #expect(try joe["age", as: Int8.self] == 42)
            #expect(try joe["income", as: Double.self] == 1.5)
            #expect(try joe["age", as: Double?.self] == 42)
            #expect(try joe["income", as: Float.self] == 1.5)
            #expect(try joe["endless", as: Float.self] == .infinity)
            #expect(try joe["sex", as: Person.Sex?.self] == .male)
            #expect(try joe["active", as: Bool.self])
            #expect(try joe["birthdate", as: Date.self] == Date(timeIntervalSinceReferenceDate: 0.5))
            #expect(try joe["bytes", as: Data.self] == Data([0]))
            #expect(try joe["who", as: SQLValue.self] == "nobody")
            #expect(try rows[1]["sex", as: Person.Sex?.self] == nil)
            #expect(try rows[1][1, as: String.self] == "Ann")
            func error(_ body: () throws -> Void) -> ActiveObjectError? {
                #expect(throws: ActiveObjectError.self) { try body() }
            }
            let faults: [(ActiveObjectError?, ActiveObjectError.Code, String?)] = [
                (error { _ = try rows[1]["sex", as: Person.Sex.self] }, .missingValue, "sex"),
                (error { _ = try joe["big", as: UInt8.self] }, .outOfRange, "big"),
                (error { _ = try joe["big", as: Bool.self] }, .outOfRange, "big"),
                (error { _ = try joe["who", as: Person.Sex.self] }, .typeMismatch, "who"),
                (error { _ = try joe["who", as: Int.self] }, .typeMismatch, "who"),
                (error { _ = try joe["who", as: UUID.self] }, .typeMismatch, "who"),
                (error { _ = try joe["income", as: Int.self] }, .typeMismatch, "income"),
                (error { _ = try joe["huge", as: Float.self] }, .outOfRange, "huge"),
                (error { _ = try joe["huge", as: Float?.self] }, .outOfRange, "huge"),
                (error { _ = try joe["nothing", as: Int.self] }, .badSQL, "nothing"),
                (error { _ = try joe[99, as: Int.self] }, .badSQL, nil),
            ]
            for (error, code, column) in faults {
                #expect(error?.code == code && error?.column == column, "\(String(describing: error))")
            }
        }
    }

    @Test func `Records are found by SQL with columns in any order`() async throws {
        try await withDatabase { database in
            try await people(database)
            let all = try await Person.findAll(in: database)
            #expect(try await Person.find(sql: "SELECT * FROM persons ORDER BY 1", in: database) == all)
            let columns = "birthdate, 7 AS extra, rating, flags, active, income, sex, votes, rank, age, NAME, objectId"
            let found = try await Person.find(
                sql: "SELECT \(columns) FROM persons WHERE age > ?", arguments: [20], in: database)
            #expect(found == [all[0]])
            let missing = await #expect(throws: ActiveObjectError.self) {
                try await Person.find(sql: "SELECT objectId, name FROM persons", in: database)
            }
            #expect(missing?.code == .badSQL && missing?.table == "persons" && missing?.column == "age")
            let wrong = await #expect(throws: ActiveObjectError.self) {
                let swapped = columns.replacing("NAME", with: "name AS x, 'text' AS age2, 5 AS name")
                _ = try await Person.find(sql: "SELECT \(swapped) FROM persons", in: database)
            }
            #expect(wrong?.code == .typeMismatch && wrong?.column == "name")
        }
    }

    @Test func `run returns the number of changed rows`() async throws {
        try await withDatabase { database in
            try await people(database)
            #expect(try await database.run("UPDATE persons SET rank = ? WHERE age > ?", arguments: [5, 1]) == 2)
            #expect(try await database.run("CREATE TABLE other (a)") == 0)
            #expect(try await database.run("UPDATE persons SET rank = 1 WHERE age > 1000") == 0)
            try await database.write { transaction in
                let rows = try transaction.rows("INSERT INTO other VALUES (?) RETURNING a", arguments: ["x"])
                #expect(rows.first?["a"] == "x")
            }
            #expect(try await database.rows("SELECT count(*) FROM other").first?[0] == 1)
        }
    }

    @Test(arguments: ["COMMIT", " -- x\n/* y */ end", ";rollback", "Savepoint a", "RELEASE a", "begin immediate"])
    func `A statement cannot end or nest its transaction`(sql: String) async throws {
        try await withDatabase { database in
            try await people(database)
            let error = await #expect(throws: ActiveObjectError.self) {
                try await database.write { transaction in
                    try Person.removeAll(in: transaction)
                    try transaction.run(sql)
                }
            }
            #expect(error?.code == .badSQL)
            #expect(try await Person.countAll(in: database) == 2)
        }
    }

    @Test(arguments: [true, false]) func `A read cannot write, in memory or on disk`(isInMemory: Bool) async throws {
        func check(_ database: Database) async throws {
            try await people(database)
            let writes = [
                "DELETE FROM persons RETURNING name", "DELETE FROM persons", "UPDATE persons SET age = 1 RETURNING 1",
                "PRAGMA query_only = 0", "PRAGMA user_version = 5", "COMMIT", "CREATE TABLE x (a)",
                "PRAGMA journal_mode = DELETE", "ATTACH ':memory:' AS other",
            ]
            for sql in writes {
                let error = await #expect(throws: ActiveObjectError.self) { try await database.rows(sql) }
                #expect(error?.code == .readOnly || error?.code == .badSQL, "\(sql)")
                await #expect(throws: ActiveObjectError.self) { try await database.read { try $0.rows(sql) } }
                await #expect(throws: ActiveObjectError.self) { try await Person.find(sql: sql, in: database) }
            }
            #expect(try await Person.countAll(in: database) == 2)
        }
        if isInMemory {
            let database = try await Database.open(":memory:", name: nil)
            try await check(database)
            await database.close()
        } else {
            try await withDatabase { try await check($0) }
        }
    }
}
