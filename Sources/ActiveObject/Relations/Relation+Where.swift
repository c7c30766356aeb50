extension HasMany {
    /// Only those that are like this too.
    public func `where`(_ criteria: Criteria<Target>) -> Self {
        var relation = self
        relation.rows = rows.filtered(criteria)
        return relation
    }
}

extension HasOne {
    /// Only one that is like this.
    public func `where`(_ criteria: Criteria<Target>) -> Self {
        var relation = self
        relation.rows = rows.filtered(criteria)
        return relation
    }
}

extension ManyToMany {
    /// Only those that are like this too.
    public func `where`(_ criteria: Criteria<Target>) -> Self {
        var relation = self
        relation.rows = rows.filtered(criteria)
        return relation
    }
}
