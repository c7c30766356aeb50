extension ActiveRecord {
    /// Inserts the record, or updates the row with the same key.
    ///
    /// ```swift
    /// try device.upsert(on: \.token, updating: .allBut(\.registeredAt), in: transaction)
    /// ```
    ///
    /// Afterwards the record is equal to its row: it has the row's `objectId`, and the row's values in columns that
    /// were not overwritten. Hooks, timestamps and rules apply as for `save`. A version is increased but not compared,
    /// because the row was not read before.
    ///
    /// - Parameters:
    ///   - key: The properties of an ``Index/unique(_:)``, in any order, or `objectId`. A key with a nil in it never
    ///     matches a row, as in SQL.
    ///   - columns: The columns that are overwritten in an existing row.
    ///   - transaction: The transaction.
    /// - Throws: ``ActiveObjectError``: `badRecord` if the key is not unique, and the errors of `save`.
    public mutating func upsert(
        on key: PartialKeyPath<Self>..., updating columns: UpsertColumns<Self> = .all, in transaction: Transaction
    ) throws {
        let table = try transaction.table(of: Self.self)
        try put(by: .upsert(table.upsertPlan(on: key, updating: columns)), in: transaction, table: table)
    }

    /// Upserts the record in a transaction of its own in a database, by default the one that the type names.
    public mutating func upsert(
        on key: PartialKeyPath<Self>..., updating columns: UpsertColumns<Self> = .all, in database: Database? = nil
    ) async throws {
        // The plan is made here, because key paths are not sendable.
        let plan = try Tables.table(of: Self.self).upsertPlan(on: key, updating: columns)
        try await write(to: database) { record, transaction in
            _ = try record.put(by: .upsert(plan), in: transaction, table: transaction.table(of: Self.self))
        }
    }
}

extension Array where Element: ActiveRecord {
    /// Upserts all records as `upsert` does, or none if one fails.
    ///
    /// - Throws: The errors of `upsert` for one record, with its ``ActiveObjectError/index``.
    public mutating func upsertAll(
        on key: PartialKeyPath<Element>..., updating columns: UpsertColumns<Element> = .all,
        in transaction: Transaction
    ) throws {
        let table = try transaction.table(of: Element.self)
        try putAll(by: .upsert(table.upsertPlan(on: key, updating: columns)), in: transaction, table: table)
    }

    /// Upserts all records in a transaction of its own in a database, by default the one that the type names.
    public mutating func upsertAll(
        on key: PartialKeyPath<Element>..., updating columns: UpsertColumns<Element> = .all,
        in database: Database? = nil
    ) async throws {
        let plan = try Tables.table(of: Element.self).upsertPlan(on: key, updating: columns)
        try await write(to: database) { records, transaction in
            try records.putAll(by: .upsert(plan), in: transaction, table: transaction.table(of: Element.self))
        }
    }
}

/// The columns that an upsert overwrites in an existing row. The time of creation is never overwritten. Version and
/// time of the last save are updated if any column is overwritten.
public struct UpsertColumns<Record>: Hashable {
    enum Choice: Hashable {
        case only, allBut, nothing
    }

    let choice: Choice
    let keyPaths: [PartialKeyPath<Record>]

    /// All columns except the key.
    public static var all: UpsertColumns { UpsertColumns(choice: .allBut, keyPaths: []) }
    /// No columns. An existing row is unchanged, the record becomes equal to it, and ``ActiveRecord/didSave(in:)`` is
    /// not called.
    public static var nothing: UpsertColumns { UpsertColumns(choice: .nothing, keyPaths: []) }

    /// Returns the given columns.
    public static func only(_ keyPaths: PartialKeyPath<Record>...) -> UpsertColumns {
        UpsertColumns(choice: .only, keyPaths: keyPaths)
    }

    /// Returns all columns except the key and the given ones.
    public static func allBut(_ keyPaths: PartialKeyPath<Record>...) -> UpsertColumns {
        UpsertColumns(choice: .allBut, keyPaths: keyPaths)
    }
}
