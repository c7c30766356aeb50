/// One other record holds the key of this one: `Person.passport`, by `Passport.personId`.
///
/// That there is no second one is for an index to say: `static var indexes: [Index<Passport>] { [.unique(\.personId)] }`.
/// Without it the first counts, in the order of the relation.
public struct HasOne<Record: ActiveRecord, Target: ActiveRecord>: Relation {
    let key: ForeignKey<Target>
    var rows = RelatedRows<Target>()

    public init(_ keyPath: KeyPath<Target, Int64>) {
        key = ForeignKey(keyPath)
    }

    public init(_ keyPath: KeyPath<Target, Int64?>) {
        key = ForeignKey(keyPath)
    }

    /// Which of several counts: `Author.books` by date, descending, as `HasOne` is the latest book.
    public func order<Value>(by keyPath: KeyPath<Target, Value>, descending: Bool = false) -> Self {
        var relation = self
        relation.rows = rows.order(by: keyPath, descending: descending)
        return relation
    }

    public func load(for record: Record, in snapshot: Snapshot) throws -> Target? {
        guard let id = record.objectId else { return nil }
        let column = try key.column(in: snapshot.table(of: Target.self))
        return try rows.load(.one(id), of: column, in: snapshot, limit: 1).first
    }

    /// By the `objectId` of `records`.
    public func load(for records: [Record], in snapshot: Snapshot) throws -> [Int64: Target] {
        let column = try key.column(in: snapshot.table(of: Target.self))
        var first: [Int64: Target] = [:]
        for target in try rows.load(.many(records.compactMap(\.objectId)), of: column, in: snapshot) {
            if let id = key.value(in: target), first[id] == nil { first[id] = target }
        }
        return first
    }

    /// Makes `target` the one of `record`, and saves it. Others that it had lose their key first.
    public func set(_ target: inout Target, of record: Record, in transaction: Transaction) throws {
        var targets = [target]
        try hasMany.set(&targets, of: record, in: transaction)
        target = targets[0]
    }

    /// Takes `target` from `record`: its key becomes nil, and it is saved. Nothing is done if another record has it.
    public func remove(_ target: inout Target, from record: Record, in transaction: Transaction)
        throws
    {
        try hasMany.remove(&target, from: record, in: transaction)
    }

    public func set(_ target: inout Target, of record: Record, in database: Database? = nil)
        async throws
    {
        var targets = [target]
        try await hasMany.set(&targets, of: record, in: database)
        target = targets[0]
    }

    public func remove(_ target: inout Target, from record: Record, in database: Database? = nil)
        async throws
    {
        try await hasMany.remove(&target, from: record, in: database)
    }

    private var hasMany: HasMany<Record, Target> { HasMany(key: key) }
}
