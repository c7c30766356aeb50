// A record is a value. It does not know what it was when it was read, and nothing keeps that for it: who wants only
// what changed to be written keeps the value as it was, which is a `let`, and compares.
//
//     let before = joe
//     joe.age += 1
//     try joe.save(changedSince: before, in: transaction)

/// A column that differs between two values of a record.
public struct ColumnChange: Hashable, Sendable, CustomStringConvertible {
    public let column: String
    public let old: SQLValue
    public let new: SQLValue
    /// `description` does not show the values.
    public let isPrivate: Bool

    public init(column: String, old: SQLValue, new: SQLValue, isPrivate: Bool = false) {
        self.column = column
        self.old = old
        self.new = new
        self.isPrivate = isPrivate
    }

    public var description: String { isPrivate ? "\(column): changed" : "\(column): \(old) to \(new)" }
}

extension ColumnChange: CustomReflectable {
    /// `dump`, and a failed expectation in a test, show what a mirror does.
    public var customMirror: Mirror {
        Mirror(self, children: ["change": description])
    }
}

extension ActiveRecord {
    /// What differs between an earlier value and this one, but for `objectId`; in the order of the properties.
    public func changes(from original: Self) throws -> [ColumnChange] {
        let table = try Tables.table(of: Self.self)
        return try table.changes(from: original, to: self)
    }

    /// What differs between the row as it is and this record. Of a record that was never saved all columns do. Throws
    /// `notFound` if the row is gone.
    public func changes(in snapshot: Snapshot) throws -> [ColumnChange] {
        let table = try snapshot.table(of: Self.self)
        guard let objectId else { return try table.changes(from: nil, to: self) }
        guard let row = try Self.find(objectId, in: snapshot) else {
            throw ActiveObjectError(
                .notFound, "\(table.name) has no row \(objectId) to compare with: it was removed", table: table.name)
        }
        return try table.changes(from: row, to: self)
    }

    /// The same, of the state of now.
    public func changes(in database: Database? = nil) async throws -> [ColumnChange] {
        let record = self
        return try await (database ?? Self.database()).read { try record.changes(in: $0) }
    }

    /// Whether `save` would change the row.
    public func isDirty(in snapshot: Snapshot) throws -> Bool {
        try !changes(in: snapshot).isEmpty
    }

    /// The same, of the state of now.
    public func isDirty(in database: Database? = nil) async throws -> Bool {
        try await !changes(in: database).isEmpty
    }

    /// Saves only what differs from an earlier value of the record: an update of those columns, and nothing at all if
    /// there are none, neither timestamps nor version nor `didSave`. What somebody else wrote into other columns stays.
    ///
    /// What `willSave` changes counts as changed. A record without `objectId` is inserted, as by `save`. A type that
    /// overrides the statement for updates has all its columns written.
    ///
    /// - Parameter original: a value of the same row; else `badRecord` is thrown.
    /// - Returns: whether there was something to save.
    @discardableResult
    public mutating func save(changedSince original: Self, in transaction: Transaction) throws -> Bool {
        let table = try transaction.table(of: Self.self)
        guard original.objectId == objectId else {
            func text(_ id: Int64?) -> String { id.map { "row \($0)" } ?? "a record that was not saved" }
            throw ActiveObjectError(
                .badRecord,
                "\(text(objectId)) of \(table.name) cannot be compared with \(text(original.objectId)): give the same "
                    + "record's earlier value", table: table.name)
        }
        return try put(by: .changes(since: original), in: transaction, table)
    }

    /// The same in a transaction of its own.
    @discardableResult
    public mutating func save(changedSince original: Self, in database: Database? = nil) async throws -> Bool {
        try await write(to: database) { try $0.save(changedSince: original, in: $1) }
    }
}

extension Table {
    /// Which columns an update has to write: not those that the library writes itself.
    func changedColumns(from old: Record, to new: Record) throws -> [Int] {
        try compare(old, new).map(\.column).filter {
            $0 != saving.managed.created?.column && $0 != saving.managed.updated?.column
                && $0 != saving.managed.version?.column
        }
    }

    fileprivate func changes(from old: Record?, to new: Record) throws -> [ColumnChange] {
        try compare(old, new).map {
            let field = fields[$0.column]
            return ColumnChange(column: field.column, old: $0.old, new: $0.new, isPrivate: field.isPrivate)
        }
    }

    private func compare(_ old: Record?, _ new: Record) throws -> [(column: Int, old: SQLValue, new: SQLValue)] {
        try (1..<fields.count).compactMap { column in
            let before = try old.map { try stored(column, of: $0) } ?? .null
            let after = try stored(column, of: new)
            return old != nil && before == after ? nil : (column, before, after)
        }
    }

    private func stored(_ column: Int, of record: Record) throws -> SQLValue {
        try unsafe withUnsafeBytes(of: record) { record in
            do throws(RowLayout.Fault) {
                return try unsafe layout.stored(record.baseAddress!, column: column)
            } catch {
                throw self.error(error.fault, in: fields[error.column])
            }
        }
    }
}
