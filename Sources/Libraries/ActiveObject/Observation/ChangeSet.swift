/// The net effect of one committed transaction on one table, as the keys of the rows.
///
/// A row that was inserted and then removed does not occur. A row that was inserted and then updated counts as
/// inserted. A row that was removed and then inserted under the same key counts as updated. Keys are in ascending
/// order, and each key is in one of the three arrays only. A row counts as updated when it was written, even if its
/// values are the same.
public struct ChangeSet: Hashable, Sendable {
    /// The keys of the inserted rows.
    public let inserted: [Int64]
    /// The keys of the updated rows.
    public let updated: [Int64]
    /// The keys of the removed rows.
    public let removed: [Int64]
    /// Whether the changes are known. If not, every row may have changed and must be read again; the three arrays are
    /// empty.
    public let isComplete: Bool

    /// Whether no row was changed.
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

/// The net effect of one committed transaction on all tables.
public struct DatabaseChanges: Hashable, Sendable {
    /// The changed tables by their names.
    public let tables: [String: ChangeSet]
    /// Whether the changes are known. If not, every row of every table may have changed.
    public let isComplete: Bool

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

/// An element that can wait for an observer.
protocol ObservedChange: Sendable {
    /// An element that stands for any number of unknown changes.
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
