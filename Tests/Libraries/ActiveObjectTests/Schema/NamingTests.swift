import Testing

@testable import ActiveObject

@Suite struct NamingTests {
    struct Inner: ActiveRecord { var objectId: Int64? }
    struct Generic<Value: Sendable & Codable>: ActiveRecord {
        var objectId: Int64?
        var value: Value
    }
    struct Elsewhere: ActiveRecord {
        static let tableName = "people of \"old\""
        static let databaseName = "archive"
        var objectId: Int64?
        var name = ""
    }

    @Test(arguments: [
        ("Person", "persons"), ("Address", "addresses"), ("Category", "categories"), ("Box", "boxes"), ("Key", "keys"),
        ("HTTPKey", "http_keys"), ("PushDevice", "push_devices"), ("APNSToken", "apns_tokens"), ("Branch", "branches"),
        ("Wish", "wishes"), ("Quiz", "quizes"), ("Item2", "item2s"), ("A", "as"), ("URL", "urls"),
        ("Outer.Inner", "inners"), ("Generic<Int>", "generics"), ("Outer.Generic<Other.Thing>", "generics"),
        ("snake_case", "snake_cases"), ("Ärztin", "ärztins"),
    ])
    func `A table is named after its type`(type: String, table: String) {
        #expect(conventionalTableName(of: type) == table)
    }

    @Test func `Nested and generic types are named after their innermost name`() {
        #expect(Inner.tableName == "inners")
        #expect(Generic<Int>.tableName == "generics")
        #expect(Person.tableName == "persons")
        #expect(Person.databaseName == "main")
    }

    @Test func `A table name with special characters is quoted`() async throws {
        try await withDatabase { database in
            var record = Elsewhere(name: "Joe")
            try await record.save(in: database)
            let tables = try look(into: database.path, "SELECT name FROM sqlite_schema WHERE type = 'table'")
            #expect(tables == [["people of \"old\""]])
            let found = try await Elsewhere.findAll(in: database)
            #expect(found.map(\.name) == ["Joe"])
        }
    }

    @Test func `A type can name its database`() async throws {
        try await withFolder { folder in
            let missing = await thrownError { _ = try await Elsewhere.findAll() }
            #expect(missing?.code == .notOpen)
            #expect(missing?.message.contains("archive") == true)
            let database = try await Database.open(folder + "/archive.db", name: "archive")
            var record = Elsewhere(name: "Joe")
            try await record.save()
            let found = try await Elsewhere.findAll(in: database)
            await database.close()
            #expect(found.count == 1)
        }
    }

    @Test func `Names that differ only in case are the same`() {
        #expect("Rank".nameKey == "rANK".nameKey)
        #expect("É".nameKey != "é".nameKey)
        #expect("e\u{301}".nameKey != "\u{e9}".nameKey)
    }
}
