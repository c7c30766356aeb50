import TestSupport
import Testing

@testable import ActiveObject

private struct Slot: ActiveRecord, Equatable {
    var objectId: Int64?
    var number: Int?
    /// A value that changes each time that the row is written.
    var stamp = 0
    var ownerId: Int64?
}

private struct Owner: ActiveRecord, Equatable {
    var objectId: Int64?
    var stamp = 0
}

/// The contents of both tables by key.
private struct Contents: Equatable {
    var slots: [Int64: Slot] = [:]
    var owners: [Int64: Owner] = [:]

    init() {}

    init(_ snapshot: Snapshot) throws {
        for slot in try Slot.findAll(in: snapshot) { slots[slot.objectId!] = slot }
        for owner in try Owner.findAll(in: snapshot) { owners[owner.objectId!] = owner }
    }

    func changes(from old: Contents) -> [String: ChangeSet] {
        ["slots": difference(from: old.slots, to: slots), "owners": difference(from: old.owners, to: owners)].filter {
            !$0.value.isEmpty
        }
    }

    private func difference<Row: Equatable>(from old: [Int64: Row], to new: [Int64: Row]) -> ChangeSet {
        ChangeSet(
            inserted: new.keys.filter { old[$0] == nil }.sorted(),
            updated: new.filter { old[$0.key] != nil && old[$0.key] != $0.value }.keys.sorted(),
            removed: old.keys.filter { new[$0] == nil }.sorted())
    }
}

/// Changes both tables in all ways that SQL has, some of which fail halfway.
private struct RandomWriter {
    var random: SeededRandom
    private var stamp = 0
    private var failures = 0
    static let keys = Int64(12)

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    private mutating func key() -> Int64 { Int64.random(in: 1...Self.keys, using: &random) }

    private mutating func nextStamp() -> Int {
        stamp += 1
        return stamp
    }

    mutating func run(_ steps: Int, in transaction: Transaction) throws {
        for _ in 0..<steps {
            switch Int.random(in: 0..<26, using: &random) {
            case 0...2: try nested(steps / 2, in: transaction)
            case 3...4: try rawSavepoint(steps / 2, in: transaction)
            case 5...8: try? saveOne(in: transaction)
            default:
                do {
                    try transaction.connection.run(statement())
                } catch {
                    // The transaction continues. SQLite undoes the changes of the failed statement, or keeps them with
                    // OR FAIL.
                    failures += 1
                    guard
                        error.code == .notUnique || error.code == .brokenReference || error.code == .checkFailed
                    else { throw error }
                }
            }
        }
    }

    private mutating func saveOne(in transaction: Transaction) throws {
        guard var slot = try Slot.find(key(), in: transaction) else {
            var owner = Owner(stamp: nextStamp())
            return try owner.save(in: transaction)
        }
        slot.stamp = nextStamp()
        try slot.save(in: transaction)
    }

    private mutating func nested(_ steps: Int, in transaction: Transaction) throws {
        struct Undone: Error {}
        let fails = Bool.random(using: &random)
        do {
            try transaction.savepoint {
                try run(steps, in: transaction)
                if fails { throw Undone() }
            }
        } catch is Undone {}
    }

    private mutating func rawSavepoint(_ steps: Int, in transaction: Transaction) throws {
        let connection = transaction.connection
        try connection.control("SAVEPOINT a")
        try run(steps, in: transaction)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: try connection.control("RELEASE a")
        case 1:
            try connection.control("ROLLBACK TO a")
            try connection.control("RELEASE a")
        default:
            try connection.control("ROLLBACK TO a")
            try run(steps / 2, in: transaction)
            try connection.control("RELEASE a")
        }
    }

    private mutating func statement() -> String {
        let (one, two, stamp) = (key(), key(), nextStamp())
        switch Int.random(in: 0..<18, using: &random) {
        case 0: return "INSERT INTO slots VALUES (\(one), \(two), \(stamp), NULL)"
        case 1: return "INSERT INTO slots VALUES (NULL, NULL, \(stamp), \(two))"
        case 2: return "INSERT OR REPLACE INTO slots VALUES (\(one), \(two), \(stamp), NULL)"
        case 3: return "INSERT OR IGNORE INTO slots VALUES (\(one), \(two), \(stamp), NULL)"
        case 4:
            return
                "INSERT OR FAIL INTO slots SELECT objectId + \(one), number + 1, \(stamp), NULL FROM slots"
        case 5:
            return "INSERT INTO slots SELECT objectId + \(one), number + 1, \(stamp), NULL FROM slots"
        case 6:
            return """
                INSERT INTO slots VALUES (\(one), \(two), \(stamp), NULL) \
                ON CONFLICT DO UPDATE SET stamp = \(stamp), number = NULL
                """
        case 7: return "UPDATE slots SET stamp = \(stamp) WHERE objectId BETWEEN \(one) AND \(two)"
        case 8:
            return "UPDATE slots SET stamp = \(stamp), objectId = objectId + 1 WHERE objectId > \(one)"
        case 9:
            return
                "UPDATE OR REPLACE slots SET stamp = \(stamp), objectId = \(two) WHERE objectId = \(one)"
        case 10: return "UPDATE OR FAIL slots SET stamp = \(stamp), number = number + 1"
        case 11:
            return
                "UPDATE OR IGNORE slots SET stamp = \(stamp), number = number + 1 WHERE objectId < \(one)"
        case 12: return "UPDATE slots SET stamp = \(stamp), ownerId = \(two) WHERE objectId <= \(one)"
        case 13: return "DELETE FROM slots WHERE objectId = \(one)"
        case 14: return "DELETE FROM owners WHERE objectId = \(one)"
        case 15: return "DELETE FROM slots"
        case 16: return "INSERT OR REPLACE INTO owners VALUES (\(one), \(stamp))"
        default: return "DELETE FROM owners"
        }
    }

    static func prepare(_ transaction: Transaction) throws {
        for sql in [
            "CREATE TABLE owners (objectId INTEGER PRIMARY KEY, stamp INTEGER NOT NULL) STRICT",
            """
            CREATE TABLE slots (objectId INTEGER PRIMARY KEY, number INTEGER UNIQUE, \
            stamp INTEGER NOT NULL CHECK (stamp % 11 <> 0), \
            ownerId INTEGER REFERENCES owners ON DELETE CASCADE) STRICT
            """,
            // Changes by a trigger must be observed too.
            """
            CREATE TRIGGER follow AFTER DELETE ON slots WHEN old.objectId % 5 = 0 \
            BEGIN DELETE FROM slots WHERE objectId = old.objectId + 1; END
            """,
        ] { try transaction.connection.run(sql) }
        // From here on, the types and their tables are known.
        _ = try Contents(transaction)
    }
}

@Suite struct ObservationModelTests {
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `Change sets match the changes of random transactions`(_ seed: UInt64) async throws {
        struct Undone: Error {}
        try await withDatabase { database in
            try await database.write { try RandomWriter.prepare($0) }
            let all = database.changes(buffering: .max)
            let slots = Slot.changes(in: database, buffering: .max)

            let expected = try await database.observeRandomly(seed: seed, transactions: 60)
            await database.close()

            var seen: [[String: ChangeSet]] = []
            for await changes in all { seen.append(changes.tables) }
            #expect(seen == expected)
            var seenSlots: [ChangeSet] = []
            for await changes in slots { seenSlots.append(changes) }
            #expect(seenSlots == expected.compactMap { $0["slots"] })
            #expect(expected.count > 20)
        }
    }
}

extension Database {
    /// Runs random transactions, some of which are rolled back, and returns the changes of the others.
    fileprivate func observeRandomly(seed: UInt64, transactions: Int) async throws -> [[String:
        ChangeSet]]
    {
        struct Undone: Error {}
        var expected: [[String: ChangeSet]] = []
        var writer = RandomWriter(seed: seed)
        for _ in 0..<transactions {
            let before = writer
            let isUndone = Int.random(in: 0..<5, using: &writer.random) == 0
            let steps = Int.random(in: 1...14, using: &writer.random)
            do {
                let (next, changes) = try await write { [writer] transaction in
                    var writer = writer
                    let old = try Contents(transaction)
                    try writer.run(steps, in: transaction)
                    if isUndone { throw Undone() }
                    return (writer, try Contents(transaction).changes(from: old))
                }
                writer = next
                if !changes.isEmpty { expected.append(changes) }
            } catch is Undone {
                // From here on, the transactions are different.
                writer = before
                _ = writer.random.next()
            }
        }
        return expected
    }
}
