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

    @Test func `A transaction that throws is rolled back`() async throws {
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

    @Test func `Updating a missing row throws an error that says what to do`() async throws {
        try await withDatabase { database in
            let error = await #expect(throws: ActiveObjectError.self) {
                var ghost = Person(objectId: 7, name: "Ghost")
                try await ghost.save(in: database)
            }
            #expect(error?.code == .notFound)
            #expect(error?.message.contains("`insert`") == true)
            #expect(error?.message.contains("persons has no row 7") == true)
        }
    }

    @Test func `insert keeps an existing objectId`() async throws {
        try await withDatabase { database in
            var people = [Person(objectId: 700, name: "Old"), Person(name: "New"), Person(objectId: 3, name: "Third")]
            try await people.insertAll(in: database)
            #expect(people.map(\.objectId) == [700, 701, 3])
            #expect(try await Person.findAll(in: database).map(\.name) == ["Third", "Old", "New"])

            var again = Person(objectId: 3, name: "Fourth")
            let error = await #expect(throws: ActiveObjectError.self) { try await again.insert(in: database) }
            #expect(error?.code == .notUnique)
            try await again.save(in: database)
            #expect(try await Person.find(3, in: database) == again)
        }
    }

    @Test func `saveAll inserts new records and updates others in order`() async throws {
        try await withDatabase { database in
            var people = (1...5).map { Person(name: "Person \($0)") }
            try await people.saveAll(in: database)
            #expect(people.map(\.objectId) == [1, 2, 3, 4, 5])
            people[1].age = 20
            people.insert(Person(name: "Between"), at: 2)
            try await people.saveAll(in: database)
            #expect(people.map(\.objectId) == [1, 2, 6, 3, 4, 5])
            let found = try await Person.findAll(in: database)
            #expect(found.sorted { $0.name < $1.name } == people.sorted { $0.name < $1.name })

            var none: [Person] = []
            try await none.saveAll(in: database)
        }
    }

    /// The row of the third record is missing. `Keyed` is saved with all steps, `Person` by the fast path.
    @Test(arguments: [true, false])
    func `A failed saveAll leaves the table and the array unchanged`(isPlain: Bool) async throws {
        struct Keyed: ActiveRecord, Equatable {
            var objectId: Int64?
            var name: String
            static var rules: [Rule<Keyed>] { [.notEmpty(\.name)] }
        }
        func check<Record: ActiveRecord & Equatable>(_ make: @escaping @Sendable (Int64?, String) -> Record)
            async throws
        {
            try await withDatabase { database in
                try await database.write { transaction in
                    var first = make(nil, "first")
                    try first.save(in: transaction)
                    var records = [make(nil, "a"), first, make(77, "gone"), make(nil, "b")]
                    let before = records
                    let error = #expect(throws: ActiveObjectError.self) { try records.saveAll(in: transaction) }
                    #expect(error?.code == .notFound)
                    #expect(error?.index == 2)
                    #expect(error?.message.hasPrefix("record 2 of the array: ") == true)
                    #expect(records == before)
                    // The record that was saved before in the same transaction is kept.
                    #expect(try Record.findAll(in: transaction) == [first])
                    records.remove(at: 2)
                    try records.saveAll(in: transaction)
                    #expect(records.allSatisfy { $0.objectId != nil })
                }
                #expect(try await Record.findAll(in: database).count == 3)
            }
        }
        if isPlain {
            try await check { Person(objectId: $0, name: $1) }
        } else {
            try await check { Keyed(objectId: $0, name: $1) }
        }
    }

    @Test func `A value that cannot be stored inserts no row, and the error names the record`() async throws {
        try await withDatabase { database in
            let error = await #expect(throws: ActiveObjectError.self) {
                var people = [Person(name: "A"), Person(name: "B", income: .nan)]
                try await people.saveAll(in: database)
            }
            #expect(error?.code == .outOfRange)
            #expect(error?.column == "income")
            #expect(error?.index == 1)
            let left = try await Person.findAll(in: database)
            #expect(left.isEmpty)
        }
    }

    @Test func `A record with only a key can be saved, updated, upserted and removed`() async throws {
        struct Mark: ActiveRecord, Equatable { var objectId: Int64? }
        try await withDatabase { database in
            var mark = Mark()
            try await mark.save(in: database)
            try await mark.save(in: database)
            var other = Mark(objectId: 9)
            try await other.upsert(on: \.objectId, in: database)
            try await other.upsert(on: \.objectId, in: database)
            #expect(try await Mark.findAll(in: database) == [mark, other])
            #expect(try await other.remove(in: database))
            #expect(try await Mark.findAll(in: database) == [mark])
        }
    }
}
