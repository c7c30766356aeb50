import ActiveObject
import Foundation
import Testing

// The examples of Documentation/ActiveObject.md in order. `GuideTextTests` compares the page with this folder.

@Suite struct PersonGuideTests {
    struct Person: ActiveRecord, Codable, Equatable {
        enum Sex: String, Codable { case female, male }

        var objectId: Int64?
        var name: String
        var age = 0
        var rank = 0
        var votes: Int64 = 0
        var sex: Sex?
        var income = 0.0
        var active = true
        var flags: UInt8 = 0
        var rating: Float = 0
        var birthdate: Date?
    }

    @Test func `The first example works`() async throws {
        try await withFolder { folder in
            let path = folder + "/people.db"
            let other = try await Database.open(path, name: nil)
            await other.close()

            let database = try await Database.open(path, name: nil)
            var joe = Person(name: "Joe", age: 42)
            try await joe.save(in: database)

            let id = try #require(joe.objectId)
            let same = try await Person.find(id, in: database)
            #expect(same == joe)
            await database.close()
        }
    }

    @Test func `The examples of saving and finding work`() async throws {
        try await withDatabase { database in
            var people = ["Ann", "Bob", "Cleo"].map { Person(name: $0) }
            try await people.saveAll(in: database)

            people[0].rank = 3
            try await people[0].save(in: database)

            #expect(try await Person.countAll(in: database) == 3)
            #expect(try await Person.exists(where: \.name == "Bob", in: database))
            #expect(try await Person.find(where: ["name": "Ann", "rank": 3], in: database) == [people[0]])

            try await people[1].remove(in: database)
            try await Person.remove(where: \.rank < 3, in: database)
            #expect(try await Person.findAll(in: database).map(\.name) == ["Ann"])
        }
    }

    @Test func `The examples of criteria, order and pages work`() async throws {
        try await withDatabase { database in
            var people = (1...40).map { Person(name: "Person \($0)", age: 10 + $0, rank: $0 % 4) }
            people[7].sex = .female
            try await people.saveAll(in: database)

            let adults =
                try await Person
                .where(\.age >= 18 && !(\.rank == 0) && \.sex != .female)
                .order(by: \.rank, descending: true)
                .order(by: \.name)
                .limit(10)
                .all(in: database)
            #expect(adults.count == 10)
            #expect(adults.allSatisfy { $0.rank == 3 || $0.rank == 2 })

            let some = \Person.age ~= 18..<30 && (\Person.name).hasPrefix("Person 1")
            #expect(try await Person.count(where: some, in: database) > 0)

            let query = Person.where(\.active == true).order(by: \.age)
            var position: Position<Person>?
            var seen = 0
            repeat {
                let page = try await query.page(size: 15, after: position, in: database)
                seen += page.records.count
                position = page.next
            } while position != nil
            #expect(seen == 40)

            var votes: Int64 = 0
            for try await person in query.stream(in: database) { votes += person.votes }
            #expect(votes == 0)

            let oldest = try await query.max(\.age, in: database)
            let income = try await query.average(\.income, in: database)
            #expect(oldest == 50)
            #expect(income == 0)
        }
    }

    @Test func `The example of a transaction works`() async throws {
        try await withDatabase { database in
            var people = [Person(name: "Ann", income: 100), Person(name: "Bob")]
            try await people.saveAll(in: database)
            let (ann, bob) = (people[0].objectId!, people[1].objectId!)

            try await database.write { transaction in
                guard var from = try Person.find(ann, in: transaction),
                    var to = try Person.find(bob, in: transaction)
                else { return }
                from.income -= 40
                to.income += 40
                try from.save(in: transaction)
                try to.save(in: transaction)
            }

            let sum = try await database.read { snapshot in
                try Person.query.sum(\.income, in: snapshot)
            }
            #expect(sum == 100)
        }
    }

    @Test func `The example of raw SQL works`() async throws {
        try await withDatabase { database in
            var people = (1...9).map { Person(name: "P\($0)", rank: $0 % 3) }
            try await people.saveAll(in: database)

            let rows = try await database.rows(
                "SELECT rank, count(*) AS people FROM persons WHERE rank > ? GROUP BY rank ORDER BY rank",
                arguments: [0])
            for row in rows {
                let people = try row["people", as: Int.self]
                #expect(people == 3)
            }
        }
    }
}
