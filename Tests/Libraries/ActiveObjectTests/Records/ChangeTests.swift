import ActiveObject
import FoundationEssentials
import Testing

private struct Account: ActiveRecord, Equatable {
    struct Address: Codable, Equatable { var city: String }

    var objectId: Int64?
    var name: String
    var balance = 0.0
    var secret: String?
    var address: Address?
    var since: Date?
    var note: String?
    static var columns: [Column<Account>] {
        [
            Column(\.secret, isPrivate: true), Column(\.since, dates: .iso8601), Column(\.note, isStored: false),
            Column(\.balance, named: "saldo"),
        ]
    }
}

@Suite struct ChangeTests {
    @Test func `changes(from:) returns the differing columns`() throws {
        let before = Account(objectId: 1, name: "a", secret: "x", address: .init(city: "Bonn"))
        var after = before
        #expect(try after.changes(from: before).isEmpty)
        after.note = "no column"
        #expect(try after.changes(from: before).isEmpty)
        after.balance = 2
        after.address = .init(city: "Rome")
        after.secret = nil
        after.since = Date(timeIntervalSince1970: 0)
        #expect(
            try after.changes(from: before) == [
                ColumnChange(column: "saldo", old: 0.0, new: 2.0),
                ColumnChange(column: "secret", old: "x", new: nil, isPrivate: true),
                ColumnChange(column: "address", old: #"{"city":"Bonn"}"#, new: #"{"city":"Rome"}"#),
                ColumnChange(column: "since", old: nil, new: "1970-01-01T00:00:00.000Z"),
            ])
    }

    @Test func `A private value is not shown in a change`() throws {
        let before = Account(name: "a", secret: "hunter2")
        let after = Account(name: "a", secret: "hunter3")
        let change = try #require(try after.changes(from: before).first)
        var dumped = ""
        dump(change, to: &dumped)
        for text in ["\(change)", String(reflecting: change), dumped] {
            #expect(text.contains("secret") && !text.contains("hunter"))
        }
    }

    @Test func `isDirty tells whether the row differs`() async throws {
        try await withDatabase { database in
            var account = Account(name: "a", since: Date(timeIntervalSince1970: 1.5))
            #expect(try await account.isDirty(in: database))
            #expect(try await account.changes(in: database).count == 5)
            try await account.save(in: database)
            #expect(try await !account.isDirty(in: database))
            account.name = "b"
            #expect(try await account.changes(in: database).map(\.column) == ["name"])

            let copy = account
            try await account.remove(in: database)
            let error = await #expect(throws: ActiveObjectError.self) { try await copy.changes(in: database) }
            #expect(error?.code == .notFound)
        }
    }

    @Test func `Only changed columns are written`() async throws {
        try await withDatabase { database in
            var mine = Account(name: "a", balance: 1)
            try await mine.save(in: database)
            let read = mine
            var yours = read
            yours.name = "b"
            mine.balance = 2
            #expect(try await yours.save(changedSince: read, in: database))
            #expect(try await mine.save(changedSince: read, in: database))
            let row = try #require(try await Account.find(1, in: database))
            #expect(row.name == "b" && row.balance == 2)
            #expect(try await !mine.save(changedSince: mine, in: database))
        }
    }

    @Test func `A new record is inserted, a missing row throws, and another record is rejected`() async throws {
        try await withDatabase { database in
            let empty = Account(name: "a")
            var account = empty
            #expect(try await account.save(changedSince: empty, in: database))
            #expect(account.objectId == 1)

            try await database.write { [account] transaction in
                var account = account
                let wrong = #expect(throws: ActiveObjectError.self) {
                    try account.save(changedSince: empty, in: transaction)
                }
                #expect(wrong?.code == .badRecord)

                var gone = Account(objectId: 9, name: "a")
                let before = gone
                gone.name = "b"
                let error = #expect(throws: ActiveObjectError.self) {
                    try gone.save(changedSince: before, in: transaction)
                }
                #expect(error?.code == .notFound)
                account.name = "c"
                try account.save(in: transaction)
            }
        }
    }
}
