/// A relation for a record whose key one other record holds: `Person.passport`, by `Passport.personId`.
///
/// A unique index guarantees that there is only one: `static var indexes: [Index<Passport>] { [.unique(\.personId)] }`.
/// Without it, the first one in the order of the relation is used.
public struct HasOne<Record: ActiveRecord, Target: ActiveRecord>: Relation {
    let key: ForeignKey<Target>
    var rows = RelatedRows<Target>()

    /// Creates a relation by a property of the other type that always holds a key.
    public init(_ keyPath: KeyPath<Target, Int64>) {
        key = ForeignKey(keyPath)
    }

    /// Creates a relation by a property of the other type that holds a key or nil.
    public init(_ keyPath: KeyPath<Target, Int64?>) {
        key = ForeignKey(keyPath)
    }

    /// Returns this relation sorted by a property; the first record is used. `HasOne` over books, by date descending,
    /// is the latest book.
    public func order<Value>(by keyPath: KeyPath<Target, Value>, descending: Bool = false) -> Self {
        var relation = self
        relation.rows = rows.order(by: keyPath, descending: descending)
        return relation
    }

    /// Returns this relation limited to a record that satisfies `criteria`.
    public func `where`(_ criteria: Criteria<Target>) -> Self {
        var relation = self
        relation.rows = rows.filtered(criteria)
        return relation
    }

    /// Returns the related record; nil if there is none.
    public func load(for record: Record, in snapshot: Snapshot) throws -> Target? {
        guard let id = record.objectId else { return nil }
        let column = try key.column(in: snapshot.table(of: Target.self))
        return try rows.load(.one(id), of: column, in: snapshot, limit: 1).first
    }

    /// Returns the related record of each record, by the `objectId` of `records`.
    public func load(for records: [Record], in snapshot: Snapshot) throws -> [Int64: Target] {
        let column = try key.column(in: snapshot.table(of: Target.self))
        var first: [Int64: Target] = [:]
        for target in try rows.load(.many(records.compactMap(\.objectId)), of: column, in: snapshot) {
            if let id = key.value(in: target), first[id] == nil { first[id] = target }
        }
        return first
    }

    /// Makes `target` the related record of `record` and saves it. Other related records lose their key first.
    public func set(_ target: inout Target, of record: Record, in transaction: Transaction) throws {
        var targets = [target]
        try hasMany.set(&targets, of: record, in: transaction)
        target = targets[0]
    }

    /// Disconnects `target` from `record`: its key becomes nil, and it is saved. If it is connected with another
    /// record, nothing happens.
    public func remove(_ target: inout Target, from record: Record, in transaction: Transaction)
        throws
    {
        try hasMany.remove(&target, from: record, in: transaction)
    }

    /// Makes `target` the related record of `record` in a database, by default the one that the type names.
    public func set(_ target: inout Target, of record: Record, in database: Database? = nil)
        async throws
    {
        var targets = [target]
        try await hasMany.set(&targets, of: record, in: database)
        target = targets[0]
    }

    /// Disconnects `target` from `record` in a database, by default the one that the type names.
    public func remove(_ target: inout Target, from record: Record, in database: Database? = nil)
        async throws
    {
        try await hasMany.remove(&target, from: record, in: database)
    }

    private var hasMany: HasMany<Record, Target> { HasMany(key: key) }
}
