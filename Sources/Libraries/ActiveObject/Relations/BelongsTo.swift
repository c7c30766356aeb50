/// A relation for a record that holds the key of another record: `Book.author`, by `authorId`.
///
/// It can also declare the foreign key: `static var references: [Reference<Book>] { [Reference(author)] }`. To connect
/// a record with another one, set the property.
public struct BelongsTo<Record: ActiveRecord, Target: ActiveRecord>: Relation {
    let key: ForeignKey<Record>
    let onRemove: RemoveRule

    /// Creates a relation by a property that always holds a key.
    ///
    /// - Parameters:
    ///   - keyPath: The property with the key of the other record.
    ///   - onRemove: What happens to the record when the other one is removed, if the relation is among
    ///     ``ActiveRecord/references``.
    public init(_ keyPath: KeyPath<Record, Int64>, onRemove: RemoveRule = .restrict) {
        key = ForeignKey(keyPath)
        self.onRemove = onRemove
    }

    /// Creates a relation by a property that holds a key or nil.
    ///
    /// - Parameters:
    ///   - keyPath: The property with the key of the other record.
    ///   - onRemove: What happens to the record when the other one is removed, if the relation is among
    ///     ``ActiveRecord/references``.
    public init(_ keyPath: KeyPath<Record, Int64?>, onRemove: RemoveRule = .restrict) {
        key = ForeignKey(keyPath)
        self.onRemove = onRemove
    }

    /// Returns the other record; nil if the key is nil or the other record does not exist.
    public func load(for record: Record, in snapshot: Snapshot) throws -> Target? {
        try key.value(in: record).flatMap { try Target.find($0, in: snapshot) }
    }

    /// Returns the other records by the keys that the records hold: `authors[book.authorId]`. Each is read once.
    public func load(for records: [Record], in snapshot: Snapshot) throws -> [Int64: Target] {
        let keys = Set(records.lazy.compactMap { key.value(in: $0) })
        let id = try snapshot.table(of: Target.self).fields[0].column.quotedName
        let targets = try RelatedRows<Target>().load(.many(Array(keys)), of: id, in: snapshot)
        return Dictionary(targets.lazy.compactMap { target in target.objectId.map { ($0, target) } }) {
            first, _ in first
        }
    }
}
