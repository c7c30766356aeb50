extension Query {
    /// How many records there are, within the limit if there is one.
    public func count(in snapshot: Snapshot) throws -> Int {
        try integer("count(*)", of: nil, in: snapshot)
    }

    public func count(in database: Database? = nil) async throws -> Int {
        try await (database ?? Record.database()).readOnce { try count(in: $0) }
    }

    /// How many different values the column has; nil is none.
    public func count<Value>(distinct column: KeyPath<Record, Value>, in snapshot: Snapshot) throws -> Int {
        try integer("count(DISTINCT %)", of: .property(column), in: snapshot)
    }

    public func count<Value>(distinct column: KeyPath<Record, Value>, in database: Database? = nil) async throws -> Int
    {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce {
            try integer("count(DISTINCT %)", of: column, in: $0)
        }
    }

    // MARK: Sums

    /// The sum; 0 of none. Throws `outOfRange` if it does not fit.
    public func sum<Value: FixedWidthInteger>(_ column: KeyPath<Record, Value>, in snapshot: Snapshot) throws -> Int {
        try sumOfIntegers(.property(column), in: snapshot)
    }

    /// The sum of those that are not nil.
    public func sum<Value: FixedWidthInteger>(_ column: KeyPath<Record, Value?>, in snapshot: Snapshot) throws -> Int {
        try sumOfIntegers(.property(column), in: snapshot)
    }

    /// The sum; 0 of none. Throws `outOfRange` if it is no number, as infinity less infinity.
    public func sum<Value: BinaryFloatingPoint>(
        _ column: KeyPath<Record, Value>, in snapshot: Snapshot
    ) throws -> Double {
        try sumOfReals(.property(column), in: snapshot)
    }

    public func sum<Value: BinaryFloatingPoint>(
        _ column: KeyPath<Record, Value?>, in snapshot: Snapshot
    ) throws -> Double {
        try sumOfReals(.property(column), in: snapshot)
    }

    public func sum<Value: FixedWidthInteger>(
        _ column: KeyPath<Record, Value>, in database: Database? = nil
    ) async throws -> Int {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try sumOfIntegers(column, in: $0) }
    }

    public func sum<Value: FixedWidthInteger>(
        _ column: KeyPath<Record, Value?>, in database: Database? = nil
    ) async throws -> Int {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try sumOfIntegers(column, in: $0) }
    }

    public func sum<Value: BinaryFloatingPoint>(
        _ column: KeyPath<Record, Value>, in database: Database? = nil
    ) async throws -> Double {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try sumOfReals(column, in: $0) }
    }

    public func sum<Value: BinaryFloatingPoint>(
        _ column: KeyPath<Record, Value?>, in database: Database? = nil
    ) async throws -> Double {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try sumOfReals(column, in: $0) }
    }

    /// The mean of a column of numbers, of those that are not nil; nil of none.
    public func average<Value>(_ column: KeyPath<Record, Value>, in snapshot: Snapshot) throws -> Double? {
        try average(.property(column), in: snapshot)
    }

    public func average<Value>(_ column: KeyPath<Record, Value>, in database: Database? = nil) async throws -> Double? {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try average(column, in: $0) }
    }

    // MARK: Extremes

    /// The least value, as the column orders them; nil of none.
    public func min<Value: Comparable>(_ column: KeyPath<Record, Value>, in snapshot: Snapshot) throws -> Value? {
        try extreme("min(%)", .property(column), in: snapshot)
    }

    public func min<Value: Comparable>(_ column: KeyPath<Record, Value?>, in snapshot: Snapshot) throws -> Value? {
        try extreme("min(%)", .property(column), in: snapshot)
    }

    public func min<Value: Comparable & Sendable>(
        _ column: KeyPath<Record, Value>, in database: Database? = nil
    ) async throws -> Value? {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try extreme("min(%)", column, in: $0) }
    }

    public func min<Value: Comparable & Sendable>(
        _ column: KeyPath<Record, Value?>, in database: Database? = nil
    ) async throws -> Value? {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try extreme("min(%)", column, in: $0) }
    }

    /// The greatest value, as the column orders them; nil of none.
    public func max<Value: Comparable>(_ column: KeyPath<Record, Value>, in snapshot: Snapshot) throws -> Value? {
        try extreme("max(%)", .property(column), in: snapshot)
    }

    public func max<Value: Comparable>(_ column: KeyPath<Record, Value?>, in snapshot: Snapshot) throws -> Value? {
        try extreme("max(%)", .property(column), in: snapshot)
    }

    public func max<Value: Comparable & Sendable>(
        _ column: KeyPath<Record, Value>, in database: Database? = nil
    ) async throws -> Value? {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try extreme("max(%)", column, in: $0) }
    }

    public func max<Value: Comparable & Sendable>(
        _ column: KeyPath<Record, Value?>, in database: Database? = nil
    ) async throws -> Value? {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try extreme("max(%)", column, in: $0) }
    }

    // MARK: Groups

    /// How many records have each value of a column, in the order of the values.
    public func counts<Value>(
        by column: KeyPath<Record, Value>, in snapshot: Snapshot
    ) throws -> [(value: Value, count: Int)] {
        try counts(.property(column), in: snapshot)
    }

    public func counts<Value: Sendable>(
        by column: KeyPath<Record, Value>, in database: Database? = nil
    ) async throws -> [(value: Value, count: Int)] {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try counts(column, in: $0) }
    }
}
