import ActiveObject
import FoundationEssentials
import TestSupport
import Testing

private struct Item: ActiveRecord, Equatable {
    var objectId: Int64?
    var key: Int
    var value: Int
    var kept = 0
    var version = 0
    var created: Date?
    var updated: Date?

    static var versionColumn: WritableKeyPath<Item, Int>? { \.version }
    static var indexes: [Index<Item>] { [.unique(\.key)] }
    static var timestamps: Timestamps<Item>? { Timestamps(created: \.created, updated: \.updated) }
    static var rules: [Rule<Item>] { [.range(\.value, in: 0...90)] }
}

/// The expected contents of the table, as plain dictionaries.
private struct Model {
    var rows: [Int64: Item] = [:]
    var now = Date(timeIntervalSince1970: 0)

    private func holder(of key: Int) -> Item? { rows.values.first { $0.key == key } }

    /// Returns the expected result of a save, or throws the expected error.
    mutating func save(_ record: Item) -> Result<Item, Fault> {
        guard (0...90).contains(record.value) else { return .failure(.invalid) }
        var saved = record
        saved.updated = now
        if let id = record.objectId {
            guard let row = rows[id] else { return .failure(.notFound) }
            guard row.version == record.version else { return .failure(.stale) }
            if let other = holder(of: record.key), other.objectId != id { return .failure(.notUnique) }
            saved.version += 1
            // The row keeps its time of creation whatever the record contains: an old copy may be of a removed row
            // whose number was reused.
            var kept = saved
            kept.created = row.created
            rows[id] = kept
            return .success(saved)
        } else {
            if holder(of: record.key) != nil { return .failure(.notUnique) }
            saved.objectId = (rows.keys.max() ?? 0) + 1
            saved.version = 1
            saved.created = now
        }
        rows[saved.objectId!] = saved
        return .success(saved)
    }

    mutating func upsert(_ record: Item) -> Result<Item, Fault> {
        guard (0...90).contains(record.value) else { return .failure(.invalid) }
        guard var row = holder(of: record.key) else {
            var new = record
            new.objectId = nil
            return save(new)
        }
        row.value = record.value
        row.version += 1
        row.updated = now
        rows[row.objectId!] = row
        return .success(row)
    }

    mutating func remove(_ record: Item) -> Result<Item, Fault> {
        guard let id = record.objectId, let row = rows[id] else { return .failure(.notFound) }
        guard row.version == record.version else { return .failure(.stale) }
        rows[id] = nil
        var removed = record
        removed.objectId = nil
        return .success(removed)
    }
}

private enum Fault: Error, Equatable {
    case invalid, notFound, stale, notUnique
}

private struct Stop: Error {}

@Suite struct SaveModelTests {
    @Test(arguments: UInt64(1)...6)
    func `Random saves, upserts and removals match a dictionary`(seed: UInt64) async throws {
        try await withDatabase { database in
            var random = SeededRandom(seed: seed)
            var model = Model()
            // This includes old copies, which make a save stale.
            var known: [Item] = []
            for round in 0..<120 {
                let seedOfRound = random.next()
                let (before, copies) = (model, known)
                do {
                    (model, known) = try await database.write { transaction in
                        var walk = Walk(model: before, known: copies, seed: seedOfRound)
                        walk.model.now = Date(timeIntervalSince1970: Double(round))
                        transaction.now = walk.model.now
                        try walk.run(in: transaction)
                        return (walk.model, walk.known)
                    }
                } catch is Stop {
                    // The transaction was rolled back, and the model is restored.
                }
                let rows = try await Item.findAll(in: database)
                #expect(rows == model.rows.values.sorted { $0.objectId! < $1.objectId! }, "round \(round)")
            }
            #expect(model.rows.count > 5)
        }
    }
}

/// A transaction of random steps. It sometimes throws, and parts of it are undone.
private struct Walk {
    var model: Model
    var known: [Item]
    var random: SeededRandom

    init(model: Model, known: [Item], seed: UInt64) {
        self.model = model
        self.known = known
        random = SeededRandom(seed: seed)
    }

    mutating func run(in transaction: Transaction) throws {
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            switch Int.random(in: 0..<12, using: &random) {
            case 0: try all(in: transaction)
            case 1: try part(in: transaction)
            case 2 where Bool.random(using: &random): throw Stop()
            case 2...4:
                try one(in: transaction, expected: { $0.upsert($1) }) {
                    try $0.upsert(on: \.key, updating: .only(\.value), in: $1)
                }
            case 5...6:
                try one(in: transaction, expected: { $0.remove($1) }) {
                    if try !$0.remove(in: $1) { throw Fault.notFound }
                }
            case 7: try one(in: transaction, expected: { $0.save($1) }, verb: { try $0.save(in: $1) }, isNew: true)
            default: try one(in: transaction, expected: { $0.save($1) }, verb: { try $0.save(in: $1) })
            }
        }
    }

    private mutating func item(isNew: Bool) -> Item {
        let value = Int.random(in: 0...100, using: &random)
        guard !isNew, var item = known.randomElement(using: &random) else {
            return Item(key: Int.random(in: 0..<40, using: &random), value: value, kept: value)
        }
        item.value = value
        if Int.random(in: 0..<4, using: &random) == 0 { item.key = Int.random(in: 0..<40, using: &random) }
        return item
    }

    private mutating func keep(_ item: Item) {
        known.append(item)
        if known.count > 30 { known.remove(at: Int.random(in: 0..<known.count, using: &random)) }
    }

    private mutating func one(
        in transaction: Transaction, expected: (inout Model, Item) -> Result<Item, Fault>,
        verb: (inout Item, Transaction) throws -> Void, isNew: Bool = false
    ) throws {
        let before = item(isNew: isNew)
        var record = before
        let wanted = expected(&model, before)
        do {
            try verb(&record, transaction)
            #expect(wanted == .success(record))
            keep(record)
        } catch {
            #expect(wanted == .failure(try #require(fault(error))))
            // A record whose row was already gone has no objectId any more.
            if error is ActiveObjectError { #expect(record == before) }
        }
    }

    private mutating func all(in transaction: Transaction) throws {
        let before = (0..<Int.random(in: 1...5, using: &random)).map { _ in item(isNew: Bool.random(using: &random)) }
        var (records, trial, wanted) = (before, model, [Item]())
        var failure: (index: Int, fault: Fault)?
        for (index, record) in before.enumerated() {
            switch trial.save(record) {
            case .success(let saved): wanted.append(saved)
            case .failure(let fault): failure = (index, fault)
            }
            if failure != nil { break }
        }
        do {
            try records.saveAll(in: transaction)
            #expect(failure == nil)
            #expect(records == wanted)
            model = trial
            records.forEach { keep($0) }
        } catch let error as ActiveObjectError {
            #expect(error.index == failure?.index)
            #expect(fault(error) == failure?.fault)
            #expect(records == before)
        }
    }

    private mutating func part(in transaction: Transaction) throws {
        let before = self
        do {
            try transaction.savepoint {
                for _ in 0..<3 { try one(in: transaction, expected: { $0.save($1) }, verb: { try $0.save(in: $1) }) }
                if Bool.random(using: &random) { throw Stop() }
            }
        } catch is Stop {
            (model, known) = (before.model, before.known)
        }
    }
}

private func fault(_ error: any Error) -> Fault? {
    if let fault = error as? Fault { return fault }
    return switch (error as? ActiveObjectError)?.code {
    case .invalid: .invalid
    case .notFound: .notFound
    case .stale: .stale
    case .notUnique: .notUnique
    default: nil
    }
}
