/// A column that holds the `objectId` of another record: a foreign key.
public struct Reference<Record> {
    let keyPath: PartialKeyPath<Record>
    let target: any ActiveRecord.Type
    let onRemove: RemoveRule

    fileprivate init(
        _ keyPath: PartialKeyPath<Record>, target: any ActiveRecord.Type, onRemove: RemoveRule
    ) {
        self.keyPath = keyPath
        self.target = target
        self.onRemove = onRemove
    }

    /// To a column that must name a row.
    public init<Target: ActiveRecord>(
        _ keyPath: KeyPath<Record, Int64>, to target: Target.Type, onRemove: RemoveRule = .restrict
    ) {
        self.keyPath = keyPath
        self.target = target
        self.onRemove = onRemove
    }

    /// To a column that may be nil.
    public init<Target: ActiveRecord>(
        _ keyPath: KeyPath<Record, Int64?>, to target: Target.Type, onRemove: RemoveRule = .restrict
    ) {
        self.keyPath = keyPath
        self.target = target
        self.onRemove = onRemove
    }
}

extension Reference where Record: ActiveRecord {
    /// What the relation says, as a foreign key of the table.
    public init<Target: ActiveRecord>(_ relation: BelongsTo<Record, Target>) {
        self.init(relation.key.keyPath, target: Target.self, onRemove: relation.onRemove)
    }
}

/// What becomes of a row when the row that it refers to is removed.
public enum RemoveRule: String, Hashable, Sendable {
    /// The other one cannot be removed while this one is there.
    case restrict
    /// This one is removed too.
    case cascade
    /// This one forgets it; the column must be optional.
    case setNil
}
