import ActiveObject
import FoundationEssentials
import Testing

private struct Device: ActiveRecord, Equatable {
    var objectId: Int64?
    var token: String
    var app: Int
    var name: String?
    var seen = 0
    var version = 0
    var registeredAt: Date?
    var updatedAt: Date?
    var note: String?

    static var columns: [Column<Device>] { [Column(\.token, ignoresCase: true), Column(\.note, isStored: false)] }
    static var indexes: [Index<Device>] { [.unique(\.token, \.app), .unique(\.name), Index(\.seen)] }
    static var versionColumn: WritableKeyPath<Device, Int>? { \.version }
    static var timestamps: Timestamps<Device>? { Timestamps(created: \.registeredAt, updated: \.updatedAt) }
    static var rules: [Rule<Device>] { [.notEmpty(\.token), .unique(\.token, \.app), .unique(\.name)] }
}

private let first = Date(timeIntervalSince1970: 1_000_000)
private let second = Date(timeIntervalSince1970: 2_000_000.5)

@Suite struct UpsertTests {
    @Test func `An upsert inserts a new key and updates the row of a known key`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                transaction.now = first
                var device = Device(token: "Ab", app: 1, name: "phone", seen: 1, note: "mine")
                try device.upsert(on: \.token, \.app, in: transaction)
                #expect(device.objectId == 1)
                #expect(device.version == 1)
                #expect(device.registeredAt == first && device.updatedAt == first)
                #expect(device.note == "mine")

                transaction.now = second
                // The same key, with its properties in another order.
                var again = Device(objectId: 99, token: "aB", app: 1, name: "tablet", seen: 2, version: 7, note: "his")
                try again.upsert(on: \.app, \.token, in: transaction)
                let expected = Device(
                    objectId: 1, token: "Ab", app: 1, name: "tablet", seen: 2, version: 2, registeredAt: first,
                    updatedAt: second, note: "his")
                #expect(again == expected)

                var other = Device(token: "ab", app: 2)
                try other.upsert(on: \.token, \.app, in: transaction)
                #expect(other.objectId == 2)
            }
            let found = try await Device.findAll(in: database)
            #expect(found.map(\.name) == ["tablet", nil])
            #expect(found.map(\.version) == [2, 1])
        }
    }

    @Test func `An upsert overwrites only the given columns, and the record equals its row`() async throws {
        try await withDatabase { database in
            var device = Device(token: "a", app: 1, name: "phone", seen: 1)
            try await device.upsert(on: \.token, \.app, in: database)

            var seen = Device(token: "a", app: 1, name: nil, seen: 2)
            try await seen.upsert(on: \.token, \.app, updating: .only(\.seen), in: database)
            #expect(seen.name == "phone" && seen.seen == 2 && seen.version == 2)
            #expect(seen.registeredAt == device.registeredAt)

            var named = Device(token: "a", app: 1, name: "watch", seen: 3)
            try await named.upsert(on: \.token, \.app, updating: .allBut(\.seen), in: database)
            #expect(named.name == "watch" && named.seen == 2 && named.version == 3)

            var kept = Device(token: "a", app: 1, name: "other", seen: 9)
            try await kept.upsert(on: \.token, \.app, updating: .nothing, in: database)
            #expect(kept == named)
            #expect(try await Device.findAll(in: database) == [named])

            // The record now equals its row, including the version.
            kept.seen = 10
            try await kept.save(in: database)
            #expect(try await Device.findAll(in: database) == [kept])

            var new = Device(token: "b", app: 1)
            try await new.upsert(on: \.token, \.app, updating: .nothing, in: database)
            #expect(new.objectId == 2 && new.version == 1)
        }
    }

    @Test func `An upsert by objectId inserts or updates the row`() async throws {
        try await withDatabase { database in
            var device = Device(objectId: 12, token: "a", app: 1)
            try await device.upsert(on: \.objectId, in: database)
            #expect(device.objectId == 12 && device.version == 1)
            device.token = "b"
            try await device.upsert(on: \.objectId, in: database)
            #expect(device.version == 2)
            var new = Device(token: "c", app: 1)
            try await new.upsert(on: \.objectId, in: database)
            #expect(new.objectId == 13)
            #expect(try await Device.findAll(in: database) == [device, new])
        }
    }

    @Test func `A key with nil is inserted each time`() async throws {
        try await withDatabase { database in
            for app in 1...2 {
                var device = Device(token: "a", app: app)
                try await device.upsert(on: \.name, in: database)
            }
            #expect(try await Device.findAll(in: database).count == 2)
        }
    }

    @Test func `Rules apply to upserts, and unique ignores the row itself`() async throws {
        try await withDatabase { database in
            var devices = [Device(token: "a", app: 1, name: "phone"), Device(token: "b", app: 1, name: "tablet")]
            try await devices.upsertAll(on: \.token, \.app, in: database)
            let before = devices
            devices[0].seen = 5
            try await devices.upsertAll(on: \.token, \.app, in: database)
            #expect(devices.map(\.objectId) == [1, 2])
            #expect(devices.map(\.version) == [2, 2])

            let error = await #expect(throws: ActiveObjectError.self) {
                var wrong = before
                wrong[0].seen = 6
                wrong[1].name = "phone"
                try await wrong.upsertAll(on: \.token, \.app, in: database)
            }
            #expect(error?.code == .invalid)
            #expect(error?.index == 1)
            #expect(error?.failures.map(\.column) == ["name"])
            #expect(try await Device.findAll(in: database) == devices)
        }
    }

    @Test func `An undeclared key is rejected with the list of declared keys`() async throws {
        try await withDatabase { database in
            let error = await #expect(throws: ActiveObjectError.self) {
                var device = Device(token: "a", app: 1)
                try await device.upsert(on: \.token, in: database)
            }
            #expect(error?.code == .badRecord)
            #expect(error?.message.contains("(token)") == true)
            #expect(error?.message.contains("it has (token, app), (name)") == true)
            #expect(error?.message.contains(#".unique(\.token)"#) == true)

            let none = await #expect(throws: ActiveObjectError.self) {
                var joe = Person(name: "Joe")
                try await joe.upsert(on: \.name, in: database)
            }
            #expect(none?.message.contains("it has none") == true)
        }
    }

    @Test func `A conflict on another unique key is an error`() async throws {
        struct Card: ActiveRecord {
            var objectId: Int64?
            var number: Int
            var owner: String
            static var indexes: [Index<Card>] { [.unique(\.number), .unique(\.owner)] }
        }
        try await withDatabase { database in
            var cards = [Card(number: 1, owner: "a"), Card(number: 2, owner: "b")]
            try await cards.upsertAll(on: \.number, in: database)
            let error = await #expect(throws: ActiveObjectError.self) {
                var card = Card(number: 1, owner: "b")
                try await card.upsert(on: \.number, in: database)
            }
            #expect(error?.code == .notUnique)
            #expect(error?.column == "owner")
        }
    }
}
