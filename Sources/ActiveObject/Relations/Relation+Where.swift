extension HasMany {
    /// Returns this relation limited to records that satisfy `criteria`.
    public func `where`(_ criteria: Criteria<Target>) -> Self {
        var relation = self
        relation.rows = rows.filtered(criteria)
        return relation
    }
}

extension HasOne {
    /// Returns this relation limited to a record that satisfies `criteria`.
    public func `where`(_ criteria: Criteria<Target>) -> Self {
        var relation = self
        relation.rows = rows.filtered(criteria)
        return relation
    }
}

extension ManyToMany {
    /// Returns this relation limited to records that satisfy `criteria`.
    public func `where`(_ criteria: Criteria<Target>) -> Self {
        var relation = self
        relation.rows = rows.filtered(criteria)
        return relation
    }
}
