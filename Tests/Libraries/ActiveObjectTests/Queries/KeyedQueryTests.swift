import Foundation
import TestSupport
import Testing

@testable import ActiveObject

@Suite struct KeyedQueryTests {
    @Test(arguments: 0..<4)
    func `The records of a key are those of a query with its values`(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let nicks: [String?] = [nil, "", "a", "A", "é", "e\u{301}", "z\u{0}x", String(repeating: "long", count: 1000)]
        let ranks: [Int8?] = [nil, -1, 0, 7]
        var samples = (0..<300).map { _ in
            Sample(
                nick: nicks.randomElement(using: &random)!, rank: ranks.randomElement(using: &random)!,
                score: Double(Int.random(in: 0..<3, using: &random)))
        }
        let keyed = try KeyedQuery<Sample>(\.nick, \.rank, where: \.score > 0)
        try await withDatabase { [samples] database in
            var samples = samples
            try await samples.saveAll(in: database)
            let pairs = (nicks + ["absent"]).flatMap { nick in ranks.map { (nick, $0) } }
            for limit in [1, 3, 1000] {
                let (found, expected) = try await database.read { snapshot in
                    let keys = pairs.map { nick, rank in
                        [nick.map { SQLValue.text($0) } ?? .null, rank.map { .integer(Int64($0)) } ?? .null]
                    }
                    return (
                        try keyed.all(for: keys, limit: limit, in: snapshot),
                        try pairs.map { nick, rank in
                            try Sample.where(\.nick == nick && \.rank == rank && \.score > 0).limit(limit)
                                .all(in: snapshot)
                        }
                    )
                }
                #expect(found == expected)
                #expect(found.contains { $0.count == min(limit, 3) })
            }
        }
        samples.removeAll()
    }

    @Test func `The records of a key have the order of the query, and a limit takes the first of it`() async throws {
        let keyed = try KeyedQuery<Sample>(\.nick, order: [.descending(\.rank)])
        try await withDatabase { database in
            var samples = [3, nil, 7, 1, 7].map { Sample(nick: "a", rank: $0, score: 0) }
            try await samples.saveAll(in: database)
            for (limit, expected) in [(2, [7, 7]), (9, [7, 7, 3, 1, nil])] as [(Int, [Int8?])] {
                let found = try await database.read { try keyed.all(for: [[.text("a")]], limit: limit, in: $0)[0] }
                #expect(found.map(\.rank) == expected)
                #expect(found.prefix(2).compactMap(\.objectId) == found.prefix(2).compactMap(\.objectId).sorted(by: >))
            }
        }
    }

    @Test func `All look-ups of a call use one statement, which is prepared once`() async throws {
        let keyed = try KeyedQuery<Person>(\.name)
        try await withDatabase { database in
            var people = (0..<100).map { Person(name: "p\($0)") }
            try await people.saveAll(in: database)
            for _ in 0..<3 {
                let (uses, prepared, found) = try await database.write { transaction in
                    let connection = transaction.connection
                    let before = (connection.uses, connection.cachedStatementCount)
                    let found = try keyed.all(for: (0..<100).map { [.text("p\($0)")] }, limit: 2, in: transaction)
                    return (
                        connection.uses - before.0, connection.cachedStatementCount - before.1,
                        found.map { $0.map(\.name) }
                    )
                }
                #expect(uses == 1 && prepared <= 1)
                #expect(found == (0..<100).map { ["p\($0)"] })
            }
        }
    }

    @Test func `A key with another number of values, and a limit of nothing, are refused`() async throws {
        let keyed = try KeyedQuery<Person>(\.name, \.age)
        try await withDatabase { database in
            for (keys, limit) in [([[SQLValue.text("a")]], 1), ([[.text("a"), .integer(1)]], 0)] {
                let error = await #expect(throws: ActiveObjectError.self) {
                    _ = try await database.read { try keyed.all(for: keys, limit: limit, in: $0) }
                }
                #expect(error?.code == .outOfRange)
            }
        }
    }
}
