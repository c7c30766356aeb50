// MARK: Equality

/// Nil is a value like any other: `\.rank == nil`, and `\.rank != 3` holds for nil.
public func == <Record: ActiveRecord, Value: Equatable & Sendable>(
    column: KeyPath<Record, Value>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), .equals(value))
}

public func != <Record: ActiveRecord, Value: Equatable & Sendable>(
    column: KeyPath<Record, Value>, value: Value
) -> Criteria<Record> {
    !(column == value)
}

// MARK: Order

public func < <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), .compares(.less, value))
}

public func <= <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), .compares(.lessOrEqual, value))
}

public func > <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), .compares(.greater, value))
}

public func >= <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), .compares(.greaterOrEqual, value))
}

// Nil is neither less nor greater than anything: each of these is false for it.

public func < <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value?>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), .compares(.less, value))
}

public func <= <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value?>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), .compares(.lessOrEqual, value))
}

public func > <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value?>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), .compares(.greater, value))
}

public func >= <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value?>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), .compares(.greaterOrEqual, value))
}
