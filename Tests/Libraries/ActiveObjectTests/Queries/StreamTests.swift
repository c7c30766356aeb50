import ActiveObject
import Foundation
import Testing

@Suite struct StreamTests {
    @Test(arguments: [1, 7, 100, 1000]) func `A stream returns all records in order`(pageSize: Int) async throws {
        try await withDatabase { database in
            var people = (0..<100).map { Person(name: "\($0 % 10)", age: $0) }
            try await people.saveAll(in: database)
            let query = Person.where(\.age != 50).order(by: \.name, descending: true)
            let all = try await query.all(in: database)
            var streamed: [Person] = []
            for try await person in query.stream(pageSize: pageSize, in: database) { streamed.append(person) }
            #expect(streamed == all)
            var limited: [Person] = []
            for try await person in query.limit(23).stream(pageSize: pageSize, in: database) { limited.append(person) }
            #expect(limited == Array(all.prefix(23)))
        }
    }

    @Test func `An empty stream ends, and an invalid one throws`() async throws {
        try await withDatabase { database in
            var iterator = Person.query.stream(in: database).makeAsyncIterator()
            let first = try await iterator.next()
            let second = try await iterator.next()
            #expect(first == nil && second == nil)
            for query in [Person.query.offset(1), Person.query.limit(-1), Person.where(["nothing": 1])] {
                await #expect(throws: ActiveObjectError.self) {
                    for try await _ in query.stream(in: database) {}
                }
            }
        }
    }

    @Test func `An idle stream does not block the writer`() async throws {
        try await withDatabase { database in
            var people = (0..<10).map { Person(name: "\($0)") }
            try await people.saveAll(in: database)
            var iterator = Person.query.stream(pageSize: 3, in: database).makeAsyncIterator()
            var names: [String] = []
            while let person = try await iterator.next() {
                names.append(person.name)
                try await Person.remove(where: \.objectId == person.objectId, in: database)
            }
            #expect(names == (0..<10).map(String.init))
            #expect(try await Person.countAll(in: database) == 0)
        }
    }

    /// Counts objects in memory. The benchmark measures bytes.
    @Test func `A stream holds one page of records in memory`() async throws {
        var options = Database.Options()
        options.durability = .normal
        options.cacheBytes = 1 << 20
        try await withDatabase(options) { database in
            try await database.write { transaction in
                for start in stride(from: 0, to: 100_000, by: 1000) {
                    var people = (start..<start + 1000).map { Tracked(name: "number \($0)", age: TrackedAge($0)) }
                    try people.saveAll(in: transaction)
                }
            }
            let alive = LiveCount()
            let all = try await database.read { snapshot in
                var ages = 0
                var most = 0
                try Tracked.query.forEach(in: snapshot) { tracked in
                    ages += tracked.age.value
                    most = max(most, tracked.age.live)
                }
                return (ages, most)
            }
            #expect(all.0 == 100_000 * 99_999 / 2 && all.1 <= 2)
            #expect(alive.now == 0)
            var ages = 0
            var most = 0
            for try await tracked in Tracked.query.stream(pageSize: 200, in: database) {
                ages += tracked.age.value
                most = max(most, tracked.age.live)
            }
            #expect(ages == 100_000 * 99_999 / 2)
            #expect(most > 100 && most <= 202, "\(most) records were alive at once")
        }
    }
}
