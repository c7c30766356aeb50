/// A relation for a record whose key other records hold: `Author.books`, by `Book.authorId`.
public struct HasMany<Record: ActiveRecord, Target: ActiveRecord>: Relation {
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

    /// Returns this relation sorted by a property, and then by key. A second order applies to records that are equal in
    /// the first.
    public func order<Value>(by keyPath: KeyPath<Target, Value>, descending: Bool = false) -> Self {
        var relation = self
        relation.rows = rows.order(by: keyPath, descending: descending)
        return relation
    }

    /// Returns this relation limited to records that satisfy `criteria`.
    public func `where`(_ criteria: Criteria<Target>) -> Self {
        var relation = self
        relation.rows = rows.filtered(criteria)
        return relation
    }

    // MARK: Loading

    /// Returns the related records of one record.
    public func load(for record: Record, in snapshot: Snapshot) throws -> [Target] {
        guard let id = record.objectId else { return [] }
        return try load(.one(id), in: snapshot)
    }

    /// Returns the related records of several records, by the `objectId` of `records`.
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

    /// Connects `target` with `record` and saves `target`. It is no longer connected with another record.
    public func add(_ target: inout Target, to record: Record, in transaction: Transaction) throws {
        try key.set(try record.savedID(), in: &target)
        try target.save(in: transaction)
    }

    /// Connects all `targets` with `record` and saves them.
    public func add(_ targets: inout [Target], to record: Record, in transaction: Transaction) throws {
        let id = try record.savedID()
        for index in targets.indices { try key.set(id, in: &targets[index]) }
        try targets.saveAll(in: transaction)
    }

    /// Disconnects `target` from `record`: its key becomes nil, and it is saved. If it is connected with another
    /// record, nothing happens.
    public func remove(_ target: inout Target, from record: Record, in transaction: Transaction)
        throws
    {
        guard key.value(in: target) == (try record.savedID()) else { return }
        try key.set(nil, in: &target)
        try target.save(in: transaction)
    }

    /// Disconnects all `targets` that are connected with `record`. Others are not changed.
    public func remove(_ targets: inout [Target], from record: Record, in transaction: Transaction) throws {
        for index in targets.indices { try remove(&targets[index], from: record, in: transaction) }
    }

    /// Makes `targets` the only related records of `record`. Only targets that were not connected are saved. Other
    /// related records lose their key.
    public func set(_ targets: inout [Target], of record: Record, in transaction: Transaction) throws {
        let id = try record.savedID()
        let kept = Set(targets.lazy.compactMap(\.objectId))
        // This relation has neither order nor criteria, so that it finds all related records.
        let had = try HasMany(key: key).load(.one(id), in: transaction)
        var left = had.filter { !kept.contains($0.objectId ?? 0) }
        for index in left.indices { try key.set(nil, in: &left[index]) }
        try left.saveAll(in: transaction)
        // The file decides: a target may have been connected with another record since it was read.
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
    // The same functions as transactions of their own.

    /// Connects `target` with `record` in a database, by default the one that the type names.
    public func add(_ target: inout Target, to record: Record, in database: Database? = nil) async throws {
        try await target.write(to: database ?? Record.database()) { try add(&$0, to: record, in: $1) }
    }

    /// Connects all `targets` with `record` in a database, by default the one that the type names.
    public func add(_ targets: inout [Target], to record: Record, in database: Database? = nil) async throws {
        try await targets.write(to: database ?? Record.database()) { try add(&$0, to: record, in: $1) }
    }

    /// Disconnects `target` from `record` in a database, by default the one that the type names.
    public func remove(_ target: inout Target, from record: Record, in database: Database? = nil) async throws {
        try await target.write(to: database ?? Record.database()) { try remove(&$0, from: record, in: $1) }
    }

    /// Disconnects all `targets` from `record` in a database, by default the one that the type names.
    public func remove(_ targets: inout [Target], from record: Record, in database: Database? = nil) async throws {
        try await targets.write(to: database ?? Record.database()) { try remove(&$0, from: record, in: $1) }
    }

    /// Makes `targets` the only related records of `record` in a database, by default the one that the type names.
    public func set(_ targets: inout [Target], of record: Record, in database: Database? = nil) async throws {
        try await targets.write(to: database ?? Record.database()) { try set(&$0, of: record, in: $1) }
    }
}
