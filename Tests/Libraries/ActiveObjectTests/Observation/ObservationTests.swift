import TestSupport
import Testing

@testable import ActiveObject

private struct Slot: ActiveRecord, Equatable {
    var objectId: Int64?
    var number: Int?
    var stamp = 0
    var ownerId: Int64?

    static var indexes: [Index<Slot>] { [.unique(\.number)] }
}

private struct Owner: ActiveRecord, Equatable {
    var objectId: Int64?
    var name = ""
}

@Suite struct ObservationTests {
    @Test func `A commit produces one element with its changes`() async throws {
        try await withDatabase { database in
            var slot = Slot(number: 1)
            try await slot.save(in: database)
            let changes = Slot.changes(in: database)
            var iterator = changes.makeAsyncIterator()

            try await database.write { transaction in
                var slots = [Slot(number: 2), Slot(number: 3)]
                try slots.saveAll(in: transaction)
                var first = try Slot.find(1, in: transaction)
                first?.stamp = 9
                try first?.save(in: transaction)
            }
            #expect(await iterator.next() == ChangeSet(inserted: [2, 3], updated: [1]))

            // Changes of other tables and changes that are rolled back do not count.
            var owner = Owner(name: "Ann")
            try await owner.save(in: database)
            await #expect(throws: CancellationError.self) {
                try await database.write { transaction in
                    var lost = Slot(number: 4)
                    try lost.save(in: transaction)
                    throw CancellationError()
                }
            }
            try await database.write { try $0.connection.run("DELETE FROM slots") }
            #expect(await iterator.next() == ChangeSet(removed: [1, 2, 3]))
            await database.close()
            #expect(await iterator.next() == nil)
            var late = Slot.changes(in: database).makeAsyncIterator()
            #expect(await late.next() == nil)
        }
    }

    @Test func `A cached DELETE of all rows is observed`() async throws {
        try await withDatabase { database in
            let empty: @Sendable (Transaction) throws -> Void = { transaction in
                try transaction.connection.withStatement("DELETE FROM slots") { try $0.run() }
            }
            try await database.write { transaction in
                // The statement is prepared and cached while there is no observer.
                _ = try transaction.table(of: Slot.self)
                try empty(transaction)
                var slots = (1...5).map { Slot(number: $0) }
                try slots.saveAll(in: transaction)
            }
            var iterator = Slot.changes(in: database).makeAsyncIterator()
            try await database.write(empty)
            await database.close()
            #expect(await iterator.next() == ChangeSet(removed: [1, 2, 3, 4, 5]))
        }
    }

    @Test func `An observer of the database sees all tables`() async throws {
        try await withDatabase { database in
            var iterator = database.changes().makeAsyncIterator()
            try await database.write { transaction in
                var owner = Owner(name: "Ann")
                try owner.save(in: transaction)
                var slot = Slot(number: 1, ownerId: owner.objectId)
                try slot.save(in: transaction)
                try transaction.connection.run("CREATE TEMP TABLE owned (a)")
                try transaction.connection.run("INSERT INTO owned VALUES (1)")
            }
            let changes = try #require(await iterator.next())
            #expect(
                changes.tables == ["slots": ChangeSet(inserted: [1]), "owners": ChangeSet(inserted: [1])])
            #expect(changes[Slot.self] == ChangeSet(inserted: [1]))
            #expect(changes[Person.self].isEmpty)
        }
    }

    @Test func `A transaction that began before the observer yields an incomplete element`()
        async throws
    {
        try await withDatabase { database in
            var owner = Owner(name: "Ann")
            try await owner.save(in: database)
            let changes = try await database.write { transaction in
                var slot = Slot(number: 1)
                try slot.save(in: transaction)
                return (Slot.changes(in: database), database.changes())
            }
            var (slots, all) = (changes.0.makeAsyncIterator(), changes.1.makeAsyncIterator())
            #expect(await slots.next()?.isComplete == false)
            #expect(await all.next()?.isComplete == false)

            // This transaction was recorded for other tables only.
            let only = try await database.write { transaction in
                var slot = Slot(number: 2)
                try slot.save(in: transaction)
                return Slot.changes(in: database)
            }
            var late = only.makeAsyncIterator()
            #expect(await late.next() == ChangeSet(inserted: [2]))
        }
    }

    @Test
    func `An observer that starts during a transaction recorded for another table gets an element`()
        async throws
    {
        try await withDatabase { database in
            var owners = Owner.changes(in: database).makeAsyncIterator()
            let changes = try await database.write { transaction in
                var slot = Slot(number: 1)
                try slot.save(in: transaction)
                return Slot.changes(in: database)
            }
            var slots = changes.makeAsyncIterator()
            #expect(await slots.next()?.isComplete == false)
            var owner = Owner(name: "Ann")
            try await owner.save(in: database)
            #expect(await owners.next() == ChangeSet(inserted: [1]))
        }
    }

    @Test func `A table without rowids yields incomplete change sets`() async throws {
        try await withDatabase { database in
            var iterator = database.changes().makeAsyncIterator()
            try await database.write { transaction in
                try transaction.connection.run(
                    "CREATE TABLE pairs (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID")
                try transaction.connection.run("CREATE TABLE plain (a)")
                try transaction.connection.run("INSERT INTO pairs VALUES (1, 2), (3, 4)")
                try transaction.connection.run("INSERT INTO plain (rowid) VALUES (0), (1)")
            }
            let tables = try #require(await iterator.next()).tables
            #expect(tables == ["pairs": .unknown, "plain": ChangeSet(inserted: [0, 1])])
        }
    }

    @Test func `A recreated table yields an incomplete change set under its own name`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                try transaction.connection.run("CREATE TABLE parents (a INTEGER PRIMARY KEY, b)")
                try transaction.connection.run("CREATE TABLE children (a REFERENCES parents)")
                try transaction.connection.run("INSERT INTO parents VALUES (1, 2), (2, 3)")
            }
            var iterator = database.changes().makeAsyncIterator()
            try await database.write { transaction in
                // When a referenced table is dropped, SQLite first removes its rows.
                try transaction.connection.run("CREATE TABLE anew (a INTEGER PRIMARY KEY, b, c)")
                try transaction.connection.run("INSERT INTO anew SELECT a, b, 0 FROM parents")
                try transaction.connection.run("DROP TABLE parents")
                try transaction.connection.run("ALTER TABLE anew RENAME TO parents")
            }
            #expect(await iterator.next()?.tables == ["parents": .unknown])
            try await database.write { try $0.connection.run("DROP TABLE children") }
            try await database.write { try $0.connection.run("ALTER TABLE parents ADD COLUMN d") }
            try await database.write { try $0.connection.run("INSERT INTO parents (a) VALUES (3)") }
            await database.close()
            #expect(await iterator.next()?.tables["children"] == .unknown)
            #expect(await iterator.next()?.tables == ["parents": ChangeSet(inserted: [3])])
        }
    }

    @Test func `More changed rows than the limit yield an incomplete change set`() async throws {
        try await withDatabase { database in
            var iterator = Slot.changes(in: database).makeAsyncIterator()
            try await database.write { transaction in
                var slots = (0...ChangeFeed.keyLimit).map { Slot(number: $0) }
                try slots.saveAll(in: transaction)
            }
            #expect(await iterator.next() == .unknown)
            try await database.write { try $0.connection.run("DELETE FROM slots WHERE number < 3") }
            #expect(await iterator.next() == ChangeSet(removed: [1, 2, 3]))
        }
    }

    @Test
    func `An idle observer uses bounded memory and gets an incomplete change set`()
        async throws
    {
        try await withDatabase { database in
            let changes = Slot.changes(in: database, buffering: 4)
            for number in 1...20 {
                var slot = Slot(number: number)
                try await slot.save(in: database)
            }
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next() == .unknown)
            var slot = Slot(number: 21)
            try await slot.save(in: database)
            #expect(await iterator.next() == ChangeSet(inserted: [21]))
        }
    }

    @Test func `A released observer is removed, and recording stops`() async throws {
        try await withDatabase { database in
            do {
                var iterator = Slot.changes(in: database).makeAsyncIterator()
                #expect(database.feed.scope == .tables(["slots"]))
                var slot = Slot(number: 1)
                try await slot.save(in: database)
                #expect(await iterator.next() == ChangeSet(inserted: [1]))
            }
            #expect(database.feed.scope == .nothing)

            let task = Task {
                for await _ in Slot.changes(in: database) {}
                return Task.isCancelled
            }
            task.cancel()
            #expect(await task.value)
            #expect(database.feed.scope == .nothing)
            try await database.write { try $0.connection.run("DELETE FROM slots") }
        }
    }

    @Test func `Only commits of other programs change the outside version`()
        async throws
    {
        try await withFolder { folder in
            let mine = try await Database.open(folder + "/test.db", name: nil)
            let other = try await Database.open(folder + "/test.db", name: nil)
            var slot = Slot(number: 1)
            try await slot.save(in: mine)
            let before = try await mine.outsideVersion()
            slot.stamp = 1
            try await slot.save(in: mine)
            #expect(try await mine.outsideVersion() == before)
            slot.stamp = 2
            try await slot.save(in: other)
            #expect(try await mine.outsideVersion() != before)
            await mine.close()
            await other.close()
        }
    }

    @Test func `A slow observer that follows the change sets ends with the table's contents`() async throws {
        try await withDatabase { database in
            // The limit is so low that elements are merged repeatedly.
            let changes = Slot.changes(in: database, buffering: 2)
            let observer = Task {
                var copy: [Int64: Slot] = [:]
                for await change in changes {
                    if change.isComplete {
                        for id in change.removed { copy[id] = nil }
                        for id in change.inserted + change.updated { copy[id] = try await Slot.find(id, in: database) }
                    } else {
                        let all = try await Slot.findAll(in: database)
                        copy = Dictionary(uniqueKeysWithValues: all.map { ($0.objectId!, $0) })
                    }
                    if copy.values.contains(where: { $0.stamp < 0 }) { break }
                }
                return copy
            }
            try await withThrowingTaskGroup { group in
                for writer in 0..<4 {
                    group.addTask {
                        var random = SeededRandom(seed: UInt64(writer))
                        for step in 1...80 {
                            let id = Int64.random(in: 1...20, using: &random)
                            let removes = Int.random(in: 0..<3, using: &random) == 0
                            try await database.write { transaction in
                                guard var slot = try Slot.find(id, in: transaction) else {
                                    var slot = Slot(stamp: step)
                                    return try slot.save(in: transaction)
                                }
                                if removes {
                                    return try transaction.connection.run("DELETE FROM slots WHERE objectId = \(id)")
                                }
                                slot.stamp = step
                                try slot.save(in: transaction)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            var last = Slot(stamp: -1)
            try await last.save(in: database)
            let copy = try await observer.value
            let table = try await Slot.findAll(in: database)
            #expect(copy.values.sorted { $0.objectId! < $1.objectId! } == table)
        }
    }
}
