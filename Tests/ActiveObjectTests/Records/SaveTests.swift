import ActiveObject
import FoundationEssentials
import Testing

@Suite struct SaveTests {
    @Test func `A record is inserted once and then updated`() async throws {
        try await withDatabase { database in
            var joe = Person(name: "Joe", age: 42, sex: .male, birthdate: Date(timeIntervalSince1970: -1e9 + 0.123))
            try await joe.save(in: database)
            let id = try #require(joe.objectId)
            #expect(try await Person.find(id, in: database) == joe)

            joe.name = "Joseph \u{0} \"O'Neil\" 🦉"
            joe.birthdate = nil
            try await joe.save(in: database)
            #expect(joe.objectId == id)
            #expect(try await Person.findAll(in: database) == [joe])
        }
    }

    @Test func `A transaction that throws leaves nothing`() async throws {
        struct Stop: Error {}
        try await withDatabase { database in
            await #expect(throws: Stop.self) {
                try await database.write { transaction in
                    var joe = Person(name: "Joe")
                    try joe.save(in: transaction)
                    throw Stop()
                }
            }
            let left = try await Person.findAll(in: database)
            #expect(left.isEmpty)
        }
    }
}
