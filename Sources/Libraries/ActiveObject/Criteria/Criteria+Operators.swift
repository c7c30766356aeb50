// MARK: Equality

/// Returns a criterion that the column has the value. Nil is a value like any other: `\.rank == nil`.
public func == <Record: ActiveRecord, Value: Equatable & Sendable>(
    column: KeyPath<Record, Value>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), satisfies: .equals(value))
}

/// Returns a criterion that the column does not have the value. `\.rank != 3` is true for nil.
public func != <Record: ActiveRecord, Value: Equatable & Sendable>(
    column: KeyPath<Record, Value>, value: Value
) -> Criteria<Record> {
    !(column == value)
}

// MARK: Order

/// Returns a criterion that the column is less than the value.
public func < <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), satisfies: .compares(.less, value))
}

/// Returns a criterion that the column is less than or equal to the value.
public func <= <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), satisfies: .compares(.lessOrEqual, value))
}

/// Returns a criterion that the column is greater than the value.
public func > <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), satisfies: .compares(.greater, value))
}

/// Returns a criterion that the column is greater than or equal to the value.
public func >= <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), satisfies: .compares(.greaterOrEqual, value))
}

// Nil is neither less nor greater than any value: these criteria are false for it.

/// Returns a criterion that the column is not NULL and less than the value.
public func < <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value?>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), satisfies: .compares(.less, value))
}

/// Returns a criterion that the column is not NULL and less than or equal to the value.
public func <= <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value?>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), satisfies: .compares(.lessOrEqual, value))
}

/// Returns a criterion that the column is not NULL and greater than the value.
public func > <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value?>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), satisfies: .compares(.greater, value))
}

/// Returns a criterion that the column is not NULL and greater than or equal to the value.
public func >= <Record: ActiveRecord, Value: Comparable & Sendable>(
    column: KeyPath<Record, Value?>, value: Value
) -> Criteria<Record> {
    Criteria(.property(column), satisfies: .compares(.greaterOrEqual, value))
}
