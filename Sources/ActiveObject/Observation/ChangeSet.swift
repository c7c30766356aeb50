/// What one committed transaction did to one table, by the keys of the rows: its net effect.
///
/// A row that was inserted and removed again is not in it; one that was inserted and then updated was inserted; one
/// that was removed and then inserted under the same key was updated. Keys are in ascending order, and each is in one
/// of the three only. A row counts as updated when it was written, whether or not its values are others.
public struct ChangeSet: Hashable, Sendable {
    public let inserted: [Int64]
    public let updated: [Int64]
    public let removed: [Int64]
    /// False: which rows were changed is not known, and every row may have been. What was read before has to be read
    /// again. The three are empty then.
    public let isComplete: Bool

    public var isEmpty: Bool { isComplete && inserted.isEmpty && updated.isEmpty && removed.isEmpty }

    init(inserted: [Int64] = [], updated: [Int64] = [], removed: [Int64] = []) {
        self.inserted = inserted
        self.updated = updated
        self.removed = removed
        isComplete = true
    }

    private init(isComplete: Bool) {
        (inserted, updated, removed) = ([], [], [])
        self.isComplete = isComplete
    }

    static let unknown = ChangeSet(isComplete: false)
}

/// What one committed transaction did to all tables.
public struct DatabaseChanges: Hashable, Sendable {
    /// The tables that were changed, by their names.
    public let tables: [String: ChangeSet]
    /// False: which tables and rows were changed is not known, and everything may have been.
    public let isComplete: Bool

    /// What was done to the table of a type; empty if nothing was.
    public subscript<Record: ActiveRecord>(type: Record.Type) -> ChangeSet {
        guard isComplete else { return .unknown }
        let name = type.tableName
        // SQLite's names know no case.
        return tables[name] ?? tables.first { $0.key.lowercased() == name.lowercased() }?.value
            ?? ChangeSet()
    }

    init(_ tables: [String: ChangeSet]) {
        self.tables = tables
        isComplete = true
    }

    private init(isComplete: Bool) {
        tables = [:]
        self.isComplete = isComplete
    }

    static let unknown = DatabaseChanges(isComplete: false)
}

/// What can wait for an observer.
protocol ObservedChange: Sendable {
    /// Stands for any number of others.
    static var unknown: Self { get }
    var isComplete: Bool { get }
    var keyCount: Int { get }
}

extension ChangeSet: ObservedChange {
    var keyCount: Int { inserted.count + updated.count + removed.count }
}

extension DatabaseChanges: ObservedChange {
    var keyCount: Int { tables.values.reduce(0) { $0 + $1.keyCount } }
}
