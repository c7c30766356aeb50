// A record is a value and does not remember what was read. A caller that wants to save only the changes keeps the old
// value and compares:
//
//     let before = joe
//     joe.age += 1
//     try joe.save(changedSince: before, in: transaction)

/// A column that differs between two values of a record.
public struct ColumnChange: Hashable, Sendable, CustomStringConvertible {
    /// The name of the column.
    public let column: String
    /// The value before the change.
    public let old: SQLValue
    /// The value after the change.
    public let new: SQLValue
    /// Whether the column is declared private, so that ``description`` does not show the values.
    public let isPrivate: Bool

    /// Creates a change.
    public init(column: String, old: SQLValue, new: SQLValue, isPrivate: Bool = false) {
        self.column = column
        self.old = old
        self.new = new
        self.isPrivate = isPrivate
    }

    /// The name of the column with both values, or without them if they are private.
    public var description: String { isPrivate ? "\(column): changed" : "\(column): \(old) to \(new)" }
}

extension ColumnChange: CustomReflectable {
    /// A mirror without private values. `dump` and failed expectations in tests use it.
    public var customMirror: Mirror {
        Mirror(self, children: ["change": description])
    }
}

extension ActiveRecord {
    /// Returns the columns that differ between an earlier value and this one, without `objectId`, in the order of the
    /// properties.
    public func changes(from original: Self) throws -> [ColumnChange] {
        let table = try Tables.table(of: Self.self)
        return try table.changes(from: original, to: self)
    }

    /// Returns the columns that differ between the row and this record. For a record that was never saved, these are
    /// all columns.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/notFound`` if the row does not exist.
    public func changes(in snapshot: Snapshot) throws -> [ColumnChange] {
        let table = try snapshot.table(of: Self.self)
        guard let objectId else { return try table.changes(from: nil, to: self) }
        guard let row = try Self.find(objectId, in: snapshot) else {
            throw ActiveObjectError(
                .notFound, message: "\(table.name) has no row \(objectId) to compare with: it was removed",
                table: table.name)
        }
        return try table.changes(from: row, to: self)
    }

    /// Returns the columns that differ between this record and its row in a database, by default the one that the type
    /// names.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/notFound`` if the row does not exist.
    public func changes(in database: Database? = nil) async throws -> [ColumnChange] {
        let record = self
        return try await (database ?? Self.database()).read { try record.changes(in: $0) }
    }

    /// Returns whether `save` would change the row.
    public func isDirty(in snapshot: Snapshot) throws -> Bool {
        try !changes(in: snapshot).isEmpty
    }

    /// Returns whether `save` would change the row in a database, by default the one that the type names.
    public func isDirty(in database: Database? = nil) async throws -> Bool {
        try await !changes(in: database).isEmpty
    }

    /// Saves only the columns that differ from an earlier value of the record. If there are none, nothing is done:
    /// timestamps and version stay, and ``didSave(in:)`` is not called. Changes of other columns by other callers are
    /// kept.
    ///
    /// Changes by ``willSave(in:)`` are saved too. A record without `objectId` is inserted, as by `save`. If the type
    /// overrides the SQL for updates, all columns are written.
    ///
    /// - Parameters:
    ///   - original: An earlier value of the same record.
    ///   - transaction: The transaction.
    /// - Returns: Whether there was a change to save.
    /// - Throws: ``ActiveObjectError/Code-swift.struct/badRecord`` if `original` is another record, and the errors of
    ///   `save`.
    @discardableResult
    public mutating func save(changedSince original: Self, in transaction: Transaction) throws -> Bool {
        let table = try transaction.table(of: Self.self)
        guard original.objectId == objectId else {
            func text(_ id: Int64?) -> String { id.map { "row \($0)" } ?? "a record that was not saved" }
            throw ActiveObjectError(
                .badRecord,
                message:
                    "\(text(objectId)) of \(table.name) cannot be compared with \(text(original.objectId)): pass an "
                    + "earlier value of the same record", table: table.name)
        }
        return try put(by: .changes(since: original), in: transaction, table: table)
    }

    /// Saves only the columns that differ from an earlier value, in a transaction of its own in a database, by default
    /// the one that the type names.
    ///
    /// - Returns: Whether there was a change to save.
    @discardableResult
    public mutating func save(changedSince original: Self, in database: Database? = nil) async throws -> Bool {
        try await write(to: database) { try $0.save(changedSince: original, in: $1) }
    }
}

extension Table {
    /// Returns the columns that an update must write, without those that the library writes itself.
    func changedColumns(from old: Record, to new: Record) throws -> [Int] {
        try differences(from: old, to: new).map(\.column).filter {
            $0 != saving.managed.created?.column && $0 != saving.managed.updated?.column
                && $0 != saving.managed.version?.column
        }
    }

    fileprivate func changes(from old: Record?, to new: Record) throws -> [ColumnChange] {
        try differences(from: old, to: new).map {
            let field = fields[$0.column]
            return ColumnChange(column: field.column, old: $0.old, new: $0.new, isPrivate: field.isPrivate)
        }
    }

    private func differences(from old: Record?, to new: Record) throws -> [(column: Int, old: SQLValue, new: SQLValue)]
    {
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
