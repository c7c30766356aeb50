extension ActiveRecord {
    /// Inserts the record, or updates the row that has its key.
    ///
    /// ```swift
    /// try device.upsert(on: \.token, updating: .allBut(\.registeredAt), in: transaction)
    /// ```
    ///
    /// The record is then what its row is: with that row's `objectId`, whichever it had before, and with what was there
    /// already in columns that were not overwritten. Hooks, timestamps and rules apply as to `save`. A version counts
    /// up, but is not compared: who upserts has not read.
    ///
    /// - Parameters:
    ///   - key: properties with an `Index.unique` over just these, in any order, or `objectId`. A key with a nil in it
    ///     is new each time, as in SQL.
    ///   - columns: what is overwritten in a row that is there.
    public mutating func upsert(
        on key: PartialKeyPath<Self>..., updating columns: UpsertColumns<Self> = .all, in transaction: Transaction
    ) throws {
        let table = try transaction.table(of: Self.self)
        try put(by: .upsert(table.upsertPlan(key, columns)), in: transaction, table)
    }

    /// The same in a transaction of its own.
    public mutating func upsert(
        on key: PartialKeyPath<Self>..., updating columns: UpsertColumns<Self> = .all, in database: Database? = nil
    ) async throws {
        // Made here: key paths do not cross threads.
        let plan = try Tables.table(of: Self.self).upsertPlan(key, columns)
        try await write(to: database) { record, transaction in
            _ = try record.put(by: .upsert(plan), in: transaction, transaction.table(of: Self.self))
        }
    }
}

extension Array where Element: ActiveRecord {
    /// Upserts all of them, as `upsert` does each; all or none. If one fails, the error says which.
    public mutating func upsertAll(
        on key: PartialKeyPath<Element>..., updating columns: UpsertColumns<Element> = .all,
        in transaction: Transaction
    ) throws {
        let table = try transaction.table(of: Element.self)
        try putAll(by: .upsert(table.upsertPlan(key, columns)), in: transaction, table)
    }

    /// The same in a transaction of its own.
    public mutating func upsertAll(
        on key: PartialKeyPath<Element>..., updating columns: UpsertColumns<Element> = .all,
        in database: Database? = nil
    ) async throws {
        let plan = try Tables.table(of: Element.self).upsertPlan(key, columns)
        try await write(to: database) { records, transaction in
            try records.putAll(by: .upsert(plan), in: transaction, transaction.table(of: Element.self))
        }
    }
}

/// Which columns an upsert overwrites in a row that is there. Never the time of its creation; its version and the time
/// of its update always, if anything is overwritten.
public struct UpsertColumns<Record>: Hashable {
    enum Choice: Hashable {
        case only, allBut, nothing
    }

    let choice: Choice
    let keyPaths: [PartialKeyPath<Record>]

    /// All but the key.
    public static var all: UpsertColumns { UpsertColumns(choice: .allBut, keyPaths: []) }
    /// A row that is there stays as it is, and the record becomes what is there; `didSave` is not called.
    public static var nothing: UpsertColumns { UpsertColumns(choice: .nothing, keyPaths: []) }

    public static func only(_ keyPaths: PartialKeyPath<Record>...) -> UpsertColumns {
        UpsertColumns(choice: .only, keyPaths: keyPaths)
    }

    /// All but the key and these.
    public static func allBut(_ keyPaths: PartialKeyPath<Record>...) -> UpsertColumns {
        UpsertColumns(choice: .allBut, keyPaths: keyPaths)
    }
}
