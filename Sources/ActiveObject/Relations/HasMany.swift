/// Other records hold the key of this one: `Author.books`, by `Book.authorId`.
public struct HasMany<Record: ActiveRecord, Target: ActiveRecord>: Relation {
    let key: ForeignKey<Target>
    var rows = RelatedRows<Target>()

    public init(_ keyPath: KeyPath<Target, Int64>) {
        key = ForeignKey(keyPath)
    }

    public init(_ keyPath: KeyPath<Target, Int64?>) {
        key = ForeignKey(keyPath)
    }

    /// The same records in this order, then in that of their keys. A second order counts where the first says nothing.
    public func order<Value>(by keyPath: KeyPath<Target, Value>, descending: Bool = false) -> Self {
        var relation = self
        relation.rows = rows.order(by: keyPath, descending: descending)
        return relation
    }

    // MARK: Loading

    public func load(for record: Record, in snapshot: Snapshot) throws -> [Target] {
        guard let id = record.objectId else { return [] }
        return try load(.one(id), in: snapshot)
    }

    /// By the `objectId` of `records`.
    public func load(for records: [Record], in snapshot: Snapshot) throws -> [Int64: [Target]] {
        var groups: [Int64: [Target]] = [:]
        for target in try load(.many(records.compactMap(\.objectId)), in: snapshot) {
            if let id = key.value(in: target) { groups[id, default: []].append(target) }
        }
        return groups
    }

    private func load(_ keys: RelatedRows<Target>.Keys, in snapshot: Snapshot) throws -> [Target] {
        let column = try key.column(in: snapshot.table(of: Target.self))
        return try rows.load(keys, of: column, in: snapshot)
    }

    // MARK: Changing

    /// Gives `target` to `record`, and saves `target`; who had it before has it no more.
    public func add(_ target: inout Target, to record: Record, in transaction: Transaction) throws {
        try key.set(try record.savedID(), in: &target)
        try target.save(in: transaction)
    }

    public func add(_ targets: inout [Target], to record: Record, in transaction: Transaction) throws {
        let id = try record.savedID()
        for index in targets.indices { try key.set(id, in: &targets[index]) }
        try targets.saveAll(in: transaction)
    }

    /// Takes `target` from `record`: its key becomes nil, and it is saved. Nothing is done if another record has it.
    public func remove(_ target: inout Target, from record: Record, in transaction: Transaction)
        throws
    {
        guard key.value(in: target) == (try record.savedID()) else { return }
        try key.set(nil, in: &target)
        try target.save(in: transaction)
    }

    /// The same for each of them; those that are not of `record` are left as they are.
    public func remove(_ targets: inout [Target], from record: Record, in transaction: Transaction) throws {
        for index in targets.indices { try remove(&targets[index], from: record, in: transaction) }
    }

    /// Makes `targets` all that `record` has. Only those are saved of which that was not so, and those that it had
    /// beside them lose their key.
    public func set(_ targets: inout [Target], of record: Record, in transaction: Transaction) throws {
        let id = try record.savedID()
        let kept = Set(targets.lazy.compactMap(\.objectId))
        // Without an order or a condition of the relation: all that it has.
        let had = try HasMany(key: key).load(.one(id), in: transaction)
        var left = had.filter { !kept.contains($0.objectId ?? 0) }
        for index in left.indices { try key.set(nil, in: &left[index]) }
        try left.saveAll(in: transaction)
        // What the file has counts: a target may have been given to another since it was read.
        let hadIDs = Set(had.lazy.map(\.objectId))
        for index in targets.indices
        where !hadIDs.contains(targets[index].objectId) || key.value(in: targets[index]) != id {
            try key.set(id, in: &targets[index])
            try targets[index].save(in: transaction)
        }
    }

    init(key: ForeignKey<Target>) {
        self.key = key
    }
}

extension HasMany {
    // The same in transactions of their own.

    public func add(_ target: inout Target, to record: Record, in database: Database? = nil) async throws {
        try await target.write(to: database ?? Record.database()) { try add(&$0, to: record, in: $1) }
    }

    public func add(_ targets: inout [Target], to record: Record, in database: Database? = nil) async throws {
        try await targets.write(to: database ?? Record.database()) { try add(&$0, to: record, in: $1) }
    }

    public func remove(_ target: inout Target, from record: Record, in database: Database? = nil) async throws {
        try await target.write(to: database ?? Record.database()) { try remove(&$0, from: record, in: $1) }
    }

    public func remove(_ targets: inout [Target], from record: Record, in database: Database? = nil) async throws {
        try await targets.write(to: database ?? Record.database()) { try remove(&$0, from: record, in: $1) }
    }

    public func set(_ targets: inout [Target], of record: Record, in database: Database? = nil) async throws {
        try await targets.write(to: database ?? Record.database()) { try set(&$0, of: record, in: $1) }
    }
}
