extension HasMany {
    /// Only those that are like this too.
    public func `where`(_ criteria: Criteria<Target>) -> Self {
        filtered { try RelatedRows<Target>.condition(criteria, in: $0) }
    }
}

extension HasOne {
    /// Only one that is like this.
    public func `where`(_ criteria: Criteria<Target>) -> Self {
        filtered { try RelatedRows<Target>.condition(criteria, in: $0) }
    }
}

extension ManyToMany {
    /// Only those that are like this too.
    public func `where`(_ criteria: Criteria<Target>) -> Self {
        filtered { try RelatedRows<Target>.condition(criteria, in: $0) }
    }
}

extension RelatedRows {
    fileprivate static func condition(_ criteria: Criteria<Target>, in table: Table<Target>) throws -> Condition {
        var text = SQLText()
        try text.append(criteria, in: table)
        return (text.sql, text.parameters.map(\.value))
    }
}
