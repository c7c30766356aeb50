import ActiveObject
import FoundationEssentials
import Testing

private struct Key: ActiveRecord, Equatable {
    var objectId: Int64?
    var name: String
    var bytes = Data()
    var count = 0
    static var indexes: [Index<Key>] { [.unique(\.name)] }
}

private struct Counted: ActiveRecord, Equatable {
    var objectId: Int64?
    var name: String
    var version = 0
    var updatedAt: Date?
    static var indexes: [Index<Counted>] { [.unique(\.name)] }
    static var versionColumn: WritableKeyPath<Counted, Int>? { \.version }
    static var timestamps: Timestamps<Counted>? { Timestamps(updated: \.updatedAt) }
    static var rules: [Rule<Counted>] { [.notEmpty(\.name)] }
}

@Suite struct UpsertRowsTests {
    @Test func `upsertAll writes the records and returns the number of rows`() async throws {
        try await withDatabase { database in
            let keys = (0..<5).map { Key(name: "\($0)", bytes: Data(count: $0 * 900), count: $0) }
            let result1 = try await Key.upsertAll(keys, on: \.name, in: database)
            #expect(result1 == 5)
            let more = (3..<8).map { Key(objectId: 99, name: "\($0)", bytes: Data([1]), count: 10) }
            let result2 = try await Key.upsertAll(more, on: \.name, updating: .allBut(\.count), in: database)
            #expect(result2 == 5)
            let result3 = try await Key.upsertAll(keys, on: \.name, updating: .nothing, in: database)
            #expect(result3 == 0)
            let result4 = try await Key.upsertAll([], on: \.name, in: database)
            #expect(result4 == 0)
            let found = try await Key.findAll(in: database)
            #expect(found.map(\.objectId) == [1, 2, 3, 4, 5, 6, 7, 8])
            #expect(found.map(\.count) == [0, 1, 2, 3, 4, 10, 10, 10])
            #expect(found.map(\.bytes.count) == [0, 900, 1800, 1, 1, 1, 1, 1])
        }
    }

    @Test func `upsertAll by objectId writes the right rows`() async throws {
        try await withDatabase { database in
            let keys = [Key(objectId: 7, name: "a"), Key(name: "b"), Key(objectId: 7, name: "c")]
            let result5 = try await Key.upsertAll(keys, on: \.objectId, in: database)
            #expect(result5 == 3)
            let result6 = try await Key.findAll(in: database)
            #expect(result6.map(\.name) == ["c", "b"])
        }
    }

    @Test func `A failed upsertAll writes nothing, and the error has the index`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                try Key.upsertAll([Key(name: "a", count: 1)], on: \.name, in: transaction)
                let error = #expect(throws: ActiveObjectError.self) {
                    try Key.upsertAll(
                        [Key(name: "b"), Key(name: "a", count: 2), Key(objectId: 2, name: "a")], on: \.objectId,
                        in: transaction)
                }
                #expect(error?.code == .notUnique && error?.index == 1)
            }
            let result7 = try await Key.findAll(in: database)
            #expect(result7 == [Key(objectId: 1, name: "a", count: 1)])
        }
    }

    @Test func `Rules, versions and timestamps apply to upsertAll`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                transaction.now = Date(timeIntervalSince1970: 5)
                let names = ["a", "b", "a"].map { Counted(name: $0) }
                #expect(try Counted.upsertAll(names, on: \.name, in: transaction) == 3)
                let error = #expect(throws: ActiveObjectError.self) {
                    try Counted.upsertAll([Counted(name: "c"), Counted(name: "")], on: \.name, in: transaction)
                }
                #expect(error?.code == .invalid && error?.index == 1)
                let rows = try Counted.findAll(in: transaction)
                #expect(rows.map(\.version) == [2, 1] && rows.allSatisfy { $0.updatedAt == transaction.now })
            }
        }
    }
}
