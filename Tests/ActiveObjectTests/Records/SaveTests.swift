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

    @Test func `What is gone is not updated, and the error says what to do`() async throws {
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

    @Test func `insert keeps the objectId that a record brings`() async throws {
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

    @Test func `saveAll inserts what is new and updates the others, in order`() async throws {
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

    /// The row of the third record is gone. `Keyed` goes through the pipeline, `Person` past it.
    @Test(arguments: [true, false])
    func `A saveAll that fails is undone, in the table and in the array`(isPlain: Bool) async throws {
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
                    // What was saved before it in the same transaction stays.
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

    @Test func `A value that no column takes is no new row, and names its record`() async throws {
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
