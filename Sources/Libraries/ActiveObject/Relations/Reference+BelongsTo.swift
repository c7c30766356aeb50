extension Reference where Record: ActiveRecord {
    /// Creates the foreign key of a relation.
    public init<Target: ActiveRecord>(_ relation: BelongsTo<Record, Target>) {
        self.init(relation.key.keyPath, target: Target.self, onRemove: relation.onRemove)
    }
}
