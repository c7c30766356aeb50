import ActiveObject
import FoundationEssentials
import Testing

private struct Draft: ActiveRecord, Equatable {
    var objectId: Int64?
    var text: String
    var number = 0
    var version = 0
    static var versionColumn: WritableKeyPath<Draft, Int>? { \.version }
    static var columns: [Column<Draft>] { [Column(\.version, named: "lock")] }
}

private struct Stamped: ActiveRecord, Equatable {
    var objectId: Int64?
    var text: String
    var created: Date?
    var updated: Date?
    static var timestamps: Timestamps<Stamped>? { Timestamps(created: \.created, updated: \.updated) }
    static var columns: [Column<Stamped>] { [Column(\.updated, dates: .unixMilliseconds)] }
}

@Suite struct VersionTests {
    @Test func `A version counts the saves, in the row and in the record`() async throws {
        try await withDatabase { database in
            var draft = Draft(text: "a", version: 40)
            for version in 1...3 {
                try await draft.save(in: database)
                #expect(draft.version == version)
                #expect(try await Draft.findAll(in: database) == [draft])
            }
        }
    }

    @Test func `Saving a record that another caller has changed throws stale`() async throws {
        try await withDatabase { database in
            var draft = Draft(text: "a")
            try await draft.save(in: database)
            let read = draft
            draft.text = "b"
            try await draft.save(in: database)

            try await database.write { transaction in
                var stale = read
                stale.number = 2
                let error = #expect(throws: ActiveObjectError.self) { try stale.save(in: transaction) }
                #expect(error?.code == .stale)
                #expect(stale.version == 1)
                let changed = #expect(throws: ActiveObjectError.self) {
                    try stale.save(changedSince: read, in: transaction)
                }
                #expect(changed?.code == .stale)
                var drafts = [Draft(text: "new"), stale]
                let all = #expect(throws: ActiveObjectError.self) { try drafts.saveAll(in: transaction) }
                #expect(all?.code == .stale && all?.index == 1)
                #expect(drafts == [Draft(text: "new"), stale])
            }
            #expect(try await Draft.findAll(in: database) == [draft])

            try await draft.remove(in: database)
            let gone = await #expect(throws: ActiveObjectError.self) {
                var stale = read
                try await stale.save(in: database)
            }
            #expect(gone?.code == .notFound)
        }
    }

    @Test func `A version or timestamp without a column is rejected`() async throws {
        struct Wrong: ActiveRecord {
            struct Inner: Codable { var version: Int }
            var objectId: Int64?
            var inner: Inner
            static var versionColumn: WritableKeyPath<Wrong, Int>? { \.inner.version }
        }
        try await withDatabase { database in
            let error = await #expect(throws: ActiveObjectError.self) {
                var wrong = Wrong(inner: Wrong.Inner(version: 1))
                try await wrong.save(in: database)
            }
            #expect(error?.code == .badRecord)
            #expect(error?.message.contains("versionColumn") == true)
        }
    }
}

@Suite struct TimestampTests {
    private static let first = Date(timeIntervalSince1970: 1_000_000)
    private static let second = Date(timeIntervalSince1970: 2_000_000.125)

    @Test func `created is written once, and updated with each save`() async throws {
        try await withDatabase { database in
            var record = Stamped(text: "a", created: .distantPast, updated: .distantPast)
            record = try await database.write { [record] transaction in
                transaction.now = Self.first
                var record = record
                try record.save(in: transaction)
                return record
            }
            #expect(record.created == Self.first && record.updated == Self.first)
            record = try await database.write { [record] transaction in
                transaction.now = Self.second
                var record = record
                record.text = "b"
                record.created = .distantFuture
                try record.save(in: transaction)
                return record
            }
            let found = try #require(try await Stamped.findAll(in: database).first)
            #expect(found == Stamped(objectId: 1, text: "b", created: Self.first, updated: Self.second))
        }
    }

    @Test func `All records of a transaction have the same time, which is read back exactly`() async throws {
        try await withDatabase { database in
            var records = (0..<100).map { Stamped(text: "\($0)") }
            try await records.saveAll(in: database)
            #expect(Set(records.map(\.created)).count == 1)
            #expect(records[0].created == records[0].updated)
            #expect(try await Stamped.findAll(in: database) == records)
        }
    }

    @Test func `insert keeps a given time of creation`() async throws {
        try await withDatabase { database in
            var records = [Stamped(objectId: 5, text: "a", created: Self.first), Stamped(text: "b")]
            try await records.insertAll(in: database)
            #expect(records[0].created == Self.first)
            #expect(records[1].created == records[0].updated && records[1].created != nil)
        }
    }

    @Test func `A record that is not written keeps its timestamp`() async throws {
        try await withDatabase { database in
            var record = Stamped(text: "a")
            try await record.save(in: database)
            try await database.write { [record] transaction in
                transaction.now = Self.second
                var record = record
                let before = record
                let isWritten = try record.save(changedSince: before, in: transaction)
                #expect(!isWritten && record == before)
                record.text = "b"
                try record.save(changedSince: before, in: transaction)
                #expect(record.updated == Self.second && record.created == before.created)
                #expect(try Stamped.find(1, in: transaction) == record)
            }
        }
    }
}
