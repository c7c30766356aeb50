/// A record holds the key of another one: `Book.author`, by `authorId`.
///
/// It can be the foreign key as well: `static var references: [Reference<Book>] { [Reference(author)] }`. To change it,
/// set the property.
public struct BelongsTo<Record: ActiveRecord, Target: ActiveRecord>: Relation {
    let key: ForeignKey<Record>
    let onRemove: RemoveRule

    /// - Parameter onRemove: what becomes of the record when the other one is removed, if the relation is among
    ///   `references`.
    public init(_ keyPath: KeyPath<Record, Int64>, onRemove: RemoveRule = .restrict) {
        key = ForeignKey(keyPath)
        self.onRemove = onRemove
    }

    /// For a record that need not belong to another.
    public init(_ keyPath: KeyPath<Record, Int64?>, onRemove: RemoveRule = .restrict) {
        key = ForeignKey(keyPath)
        self.onRemove = onRemove
    }

    /// Nil if the record belongs to none, or to one that is not there.
    public func load(for record: Record, in snapshot: Snapshot) throws -> Target? {
        try key.value(in: record).flatMap { try Target.find($0, in: snapshot) }
    }

    /// By the keys that the records hold: `authors[book.authorId]`. Each target is read once.
    public func load(for records: [Record], in snapshot: Snapshot) throws -> [Int64: Target] {
        let keys = Set(records.lazy.compactMap { key.value(in: $0) })
        let id = try snapshot.table(of: Target.self).fields[0].column.quotedName
        let targets = try RelatedRows<Target>().load(.many(Array(keys)), of: id, in: snapshot)
        return Dictionary(targets.lazy.compactMap { target in target.objectId.map { ($0, target) } }) {
            first, _ in first
        }
    }
}
