import ActiveObject
import Testing

private struct Memo: ActiveRecord, Equatable {
    var objectId: Int64?
    var text: String
    var version = 0
    static var versionColumn: WritableKeyPath<Memo, Int>? { \.version }
}

@Suite struct RemoveTests {
    @Test func `A removed record has no objectId and can be saved again`() async throws {
        try await withDatabase { database in
            var people = [Person(name: "Joe"), Person(name: "Ann")]
            try await people.saveAll(in: database)
            #expect(try await people[0].remove(in: database))
            #expect(people[0] == Person(name: "Joe"))
            #expect(try await Person.findAll(in: database) == [people[1]])
            try await people[0].save(in: database)
            #expect(try await Person.findAll(in: database).count == 2)
        }
    }

    @Test func `Removing a missing row or an unsaved record returns false`() async throws {
        try await withDatabase { database in
            var joe = Person(name: "Joe")
            #expect(try await !joe.remove(in: database))
            try await joe.save(in: database)
            var copy = joe
            #expect(try await joe.remove(in: database))
            #expect(try await !copy.remove(in: database))
            #expect(copy.objectId == nil)
        }
    }

    @Test func `removeAll removes existing rows and returns their number`() async throws {
        try await withDatabase { database in
            var people = (1...5).map { Person(name: "Person \($0)") }
            try await people.saveAll(in: database)
            let kept = people.removeFirst()
            var gone = people[2]
            try await gone.remove(in: database)
            #expect(try await people.removeAll(in: database) == 3)
            #expect(people.allSatisfy { $0.objectId == nil } && people.count == 4)
            #expect(try await Person.findAll(in: database) == [kept])
            people.removeAll()
            #expect(people.isEmpty)
        }
    }

    @Test func `A stale record fails removeAll as a whole`() async throws {
        try await withDatabase { database in
            var notes = [Memo(text: "a"), Memo(text: "b")]
            try await notes.saveAll(in: database)
            var newer = notes[1]
            try await newer.save(in: database)

            let before = notes
            let error = try await database.write { [notes] transaction in
                var notes = notes
                let error = #expect(throws: ActiveObjectError.self) { try notes.removeAll(in: transaction) }
                #expect(notes == before)
                return error
            }
            #expect(error?.code == .stale)
            #expect(error?.index == 1)
            #expect(try await Memo.findAll(in: database) == [notes[0], newer])

            #expect(try await newer.remove(in: database))
            #expect(try await !notes[1].remove(in: database))
        }
    }
}
