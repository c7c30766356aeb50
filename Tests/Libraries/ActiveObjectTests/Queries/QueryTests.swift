import FoundationEssentials
import TestSupport
import Testing

@testable import ActiveObject

@Suite struct QueryTests {
    private func samples(_ count: Int, seed: UInt64, in database: Database) async throws -> [Sample] {
        var random = SeededRandom(seed: seed)
        var samples = (0..<count).map { _ in Sample.random(&random) }
        try await samples.saveAll(in: database)
        return samples
    }

    @Test func `Order, limit and offset match those of a sorted array`() async throws {
        try await withDatabase { database in
            let all = try await samples(200, seed: 1, in: database)
            let expected = all.filter { $0.age > -2 }.sorted {
                ($0.name, -$0.age, -($0.objectId ?? 0)) < ($1.name, -$1.age, -($1.objectId ?? 0))
            }
            let query = Sample.where(\.age > -2).order(by: \.name).order(by: \.age, descending: true)
            #expect(try await query.all(in: database) == expected)
            #expect(try await query.limit(10).offset(20).all(in: database) == Array(expected[20..<30]))
            #expect(try await query.offset(20).limit(30).limit(10).first(in: database) == expected[20])
            #expect(try await query.limit(7).count(in: database) == 7)
            #expect(try await query.limit(0).exists(in: database) == false)
            #expect(try await query.exists(in: database))
            #expect(
                try await Sample.find(
                    where: \.age > -2, order: [.ascending(\.name), .descending(\.age)], limit: 3, in: database)
                    == Array(expected.prefix(3)))
            #expect(try await Sample.findAll(order: [.descending(\.objectId)], in: database) == all.reversed())
            let error = await #expect(throws: ActiveObjectError.self) { try await query.limit(-1).all(in: database) }
            #expect(error?.code == .outOfRange)
        }
    }

    @Test func `Static functions of a type match the functions of its query`() async throws {
        try await withDatabase { database in
            let all = try await samples(50, seed: 2, in: database)
            let on = all.filter(\.isOn)
            #expect(try await Sample.find(where: \.isOn == true, in: database) == on)
            #expect(try await Sample.first(where: \.isOn == true, in: database) == on.first)
            #expect(try await Sample.count(where: \.isOn == true, in: database) == on.count)
            #expect(try await Sample.countAll(in: database) == 50)
            #expect(try await Sample.exists(50, in: database))
            #expect(try await Sample.exists(51, in: database) == false)
            #expect(try await Sample.exists(where: \.isOn == true, in: database))
            #expect(try await Sample.remove(where: \.isOn == true, in: database) == on.count)
            #expect(try await Sample.findAll(in: database) == all.filter { !$0.isOn })
            #expect(try await Sample.removeAll(in: database) == 50 - on.count)
            #expect(try await Sample.query.exists(in: database) == false)
        }
    }

    @Test func `Updates and removals of a limited query affect only its rows`() async throws {
        try await withDatabase { database in
            let all = try await samples(60, seed: 3, in: database)
            let byAge = all.sorted { ($0.age, $0.objectId ?? 0) < ($1.age, $1.objectId ?? 0) }
            let query = Sample.query.order(by: \.age).offset(5).limit(10)
            #expect(try await query.update(.set(\.name, to: "changed"), in: database) == 10)
            let changed = try await Sample.find(where: \.name == "changed", in: database)
            #expect(Set(changed.map(\.objectId)) == Set(byAge[5..<15].map(\.objectId)))
            #expect(try await query.remove(in: database) == 10)
            #expect(try await Sample.exists(where: \.name == "changed", in: database) == false)
            #expect(try await Sample.countAll(in: database) == 50)
        }
    }

    @Test func `An update assigns and increments, and fails as a whole on overflow`() async throws {
        struct Counter: ActiveRecord, Equatable {
            var objectId: Int64?
            var small: UInt8 = 0
            var big: Int64?
            var share = 0.0
            var version = 0
            var changed: Date?
            var sex: Sample.Sex?

            static var versionColumn: WritableKeyPath<Counter, Int>? { \.version }
            static var timestamps: Timestamps<Counter>? { Timestamps(updated: \.changed) }
        }
        try await withDatabase { database in
            var counters = [Counter(small: 254, big: nil), Counter(small: 1, big: .max - 1)]
            try await counters.saveAll(in: database)
            let versions = try await Counter.findAll(in: database).map(\.version)
            let count = try await Counter.query.update(
                .increment(\.small), .increment(\.big), .increment(\.share, by: 0.5), .set(\.sex, to: .female),
                in: database)
            #expect(count == 2)
            let after = try await Counter.findAll(in: database)
            #expect(after.map(\.small) == [255, 2] && after.map(\.big) == [nil, .max])
            #expect(after.map(\.share) == [0.5, 0.5] && after.map(\.sex) == [.female, .female])
            #expect(after.map(\.version) == versions.map { $0 + 1 } && after.allSatisfy { $0.changed != nil })
            for change in [Assignment<Counter>.increment(\.small), .increment(\.big), .increment(\.small, by: -3)] {
                let error = await #expect(throws: ActiveObjectError.self) {
                    try await Counter.query.update(change, in: database)
                }
                #expect(error?.code == .outOfRange)
                #expect(try await Counter.findAll(in: database) == after)
            }
            let key = await #expect(throws: ActiveObjectError.self) {
                try await Counter.query.update(.set(\.objectId, to: 9), in: database)
            }
            #expect(key?.code == .badSQL && key?.column == "objectId")
            #expect(try await Counter.query.update(.set(\.changed, to: nil), in: database) == 2)
            #expect(try await Counter.count(where: \.changed == nil, in: database) == 2)
        }
    }

    @Test func `Aggregates match those of an array`() async throws {
        try await withDatabase { database in
            var all = try await samples(100, seed: 4, in: database)
            for index in all.indices { all[index].score = Double(index) / 4 }
            try await all.saveAll(in: database)
            let query = Sample.where(\.age >= 0)
            let some = all.filter { $0.age >= 0 }
            #expect(try await query.sum(\.age, in: database) == some.map(\.age).reduce(0, +))
            #expect(try await query.sum(\.rank, in: database) == some.compactMap(\.rank).map(Int.init).reduce(0, +))
            #expect(try await query.sum(\.score, in: database) == some.map(\.score).reduce(0, +))
            let average = try #require(try await query.average(\.score, in: database))
            #expect(abs(average - some.map(\.score).reduce(0, +) / Double(some.count)) < 1e-9)
            #expect(try await query.min(\.score, in: database) == some.map(\.score).min())
            #expect(try await query.max(\.born, in: database) == some.map(\.born).max())
            #expect(try await query.max(\.died, in: database) == some.compactMap(\.died).max())
            #expect(try await query.min(\.rank, in: database) == some.compactMap(\.rank).min())
            #expect(try await query.max(\.level, in: database) == some.map(\.level).max())
            #expect(try await query.count(distinct: \.sex, in: database) == Set(some.compactMap(\.sex)).count)
            let counts = try await query.counts(by: \.sex, in: database)
            #expect(counts.map(\.value) == [nil, .female, .male])
            #expect(counts.map(\.count) == [nil, .female, .male].map { sex in some.count { $0.sex == sex } })
            // Only the rows within the limit.
            let limited = query.order(by: \.score, descending: true).limit(5)
            #expect(try await limited.min(\.score, in: database) == some.map(\.score).sorted().suffix(5).first)
            #expect(try await limited.counts(by: \.isOn, in: database).map(\.count).reduce(0, +) == 5)
        }
    }

    @Test func `Aggregates handle empty results, overflow and columns without numbers`() async throws {
        try await withDatabase { database in
            let none = Sample.where(.nothing)
            #expect(try await none.sum(\.age, in: database) == 0)
            #expect(try await none.sum(\.score, in: database) == 0)
            #expect(try await none.average(\.age, in: database) == nil)
            #expect(try await none.min(\.name, in: database) == nil)
            #expect(try await none.counts(by: \.name, in: database).isEmpty)
            var two = [Sample(age: .max, score: .infinity), Sample(age: 1, score: -.infinity)]
            try await two.saveAll(in: database)
            let overflow = await #expect(throws: ActiveObjectError.self) {
                try await Sample.query.sum(\.age, in: database)
            }
            #expect(overflow?.code == .outOfRange && overflow?.column == "age")
            // A sum that fits is returned in any order of the rows.
            var more = [Sample(age: -2), Sample(age: .min), Sample(age: -1)]
            try await more.saveAll(in: database)
            #expect(try await Sample.query.sum(\.age, in: database) == -3)
            let below = await #expect(throws: ActiveObjectError.self) {
                try await Sample.query.order(by: \.age).limit(3).sum(\.age, in: database)
            }
            #expect(below?.code == .outOfRange && below?.column == "age")
            let notANumber = await #expect(throws: ActiveObjectError.self) {
                try await Sample.query.sum(\.score, in: database)
            }
            #expect(notANumber?.code == .outOfRange && notANumber?.column == "score")
            let text = await #expect(throws: ActiveObjectError.self) {
                try await Sample.query.average(\.name, in: database)
            }
            #expect(text?.code == .typeMismatch && text?.column == "name")
        }
    }

    @Test func `forEach visits records one by one, and other calls work inside it`() async throws {
        try await withDatabase { database in
            let all = try await samples(20, seed: 5, in: database)
            struct Enough: Error {}
            try await database.read { snapshot in
                var seen: [Sample] = []
                try Sample.query.forEach(in: snapshot) { sample in
                    let count = try Sample.count(where: \.objectId == sample.objectId, in: snapshot)
                    #expect(count == 1)
                    seen.append(sample)
                }
                #expect(seen == all)
                #expect(throws: Enough.self) { try Sample.query.forEach(in: snapshot) { _ in throw Enough() } }
                // The statement has been given back.
                let again = try Sample.query.all(in: snapshot)
                #expect(again == all)
            }
        }
    }

    @Test func `Removing all rows visits each row if there is an observer`() throws {
        let table = try Table<Sample>()
        var text = SQLText("DELETE FROM samples")
        try Sample.query.append(rowsIn: table, to: &text)
        #expect(text.sql == "DELETE FROM samples WHERE 1")
    }
}
