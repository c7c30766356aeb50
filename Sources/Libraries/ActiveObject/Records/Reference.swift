/// A foreign key: a column with the `objectId` of another record.
public struct Reference<Record> {
    let keyPath: PartialKeyPath<Record>
    let target: any ActiveRecord.Type
    let onRemove: RemoveRule

    init(
        _ keyPath: PartialKeyPath<Record>, target: any ActiveRecord.Type, onRemove: RemoveRule
    ) {
        self.keyPath = keyPath
        self.target = target
        self.onRemove = onRemove
    }

    /// Creates a foreign key on a required column.
    ///
    /// - Parameters:
    ///   - keyPath: The property with the key of the other record.
    ///   - target: The type of the other record.
    ///   - onRemove: What happens to the row when the other row is removed.
    public init<Target: ActiveRecord>(
        _ keyPath: KeyPath<Record, Int64>, to target: Target.Type, onRemove: RemoveRule = .restrict
    ) {
        self.keyPath = keyPath
        self.target = target
        self.onRemove = onRemove
    }

    /// Creates a foreign key on an optional column.
    ///
    /// - Parameters:
    ///   - keyPath: The property with the key of the other record.
    ///   - target: The type of the other record.
    ///   - onRemove: What happens to the row when the other row is removed.
    public init<Target: ActiveRecord>(
        _ keyPath: KeyPath<Record, Int64?>, to target: Target.Type, onRemove: RemoveRule = .restrict
    ) {
        self.keyPath = keyPath
        self.target = target
        self.onRemove = onRemove
    }
}

/// What happens to a row when the row to which it refers is removed.
public enum RemoveRule: String, Hashable, Sendable {
    /// The other row cannot be removed as long as this one refers to it.
    case restrict
    /// This row is removed too.
    case cascade
    /// The column becomes NULL; it must be optional.
    case setNil
}
