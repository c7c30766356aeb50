extension Query {
    /// Returns the number of records, within the limit if there is one.
    public func count(in snapshot: Snapshot) throws -> Int {
        try integer("count(*)", of: nil, in: snapshot)
    }

    /// Returns the number of records in a database, by default the one that the type names.
    public func count(in database: Database? = nil) async throws -> Int {
        try await (database ?? Record.database()).readOnce { try count(in: $0) }
    }

    /// Returns the number of different values of a column, without nil.
    public func count<Value>(distinct column: KeyPath<Record, Value>, in snapshot: Snapshot) throws -> Int {
        try integer("count(DISTINCT %)", of: .property(column), in: snapshot)
    }

    /// Returns the number of different values of a column in a database, by default the one that the type names.
    public func count<Value>(distinct column: KeyPath<Record, Value>, in database: Database? = nil) async throws -> Int
    {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce {
            try integer("count(DISTINCT %)", of: column, in: $0)
        }
    }

    // MARK: Sums

    /// Returns the sum of a column; 0 if there are no records.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/outOfRange`` if the sum does not fit.
    public func sum<Value: FixedWidthInteger>(_ column: KeyPath<Record, Value>, in snapshot: Snapshot) throws -> Int {
        try sumOfIntegers(.property(column), in: snapshot)
    }

    /// Returns the sum of the values that are not nil; 0 if there are none.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/outOfRange`` if the sum does not fit.
    public func sum<Value: FixedWidthInteger>(_ column: KeyPath<Record, Value?>, in snapshot: Snapshot) throws -> Int {
        try sumOfIntegers(.property(column), in: snapshot)
    }

    /// Returns the sum of a column; 0 if there are no records.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/outOfRange`` if the sum is not a number, such as infinity minus
    ///   infinity.
    public func sum<Value: BinaryFloatingPoint>(
        _ column: KeyPath<Record, Value>, in snapshot: Snapshot
    ) throws -> Double {
        try sumOfReals(.property(column), in: snapshot)
    }

    /// Returns the sum of the values that are not nil; 0 if there are none.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/outOfRange`` if the sum is not a number, such as infinity minus
    ///   infinity.
    public func sum<Value: BinaryFloatingPoint>(
        _ column: KeyPath<Record, Value?>, in snapshot: Snapshot
    ) throws -> Double {
        try sumOfReals(.property(column), in: snapshot)
    }

    /// Returns the sum of a column in a database, by default the one that the type names.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/outOfRange`` if the sum does not fit.
    public func sum<Value: FixedWidthInteger>(
        _ column: KeyPath<Record, Value>, in database: Database? = nil
    ) async throws -> Int {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try sumOfIntegers(column, in: $0) }
    }

    /// Returns the sum of the values that are not nil in a database, by default the one that the type names.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/outOfRange`` if the sum does not fit.
    public func sum<Value: FixedWidthInteger>(
        _ column: KeyPath<Record, Value?>, in database: Database? = nil
    ) async throws -> Int {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try sumOfIntegers(column, in: $0) }
    }

    /// Returns the sum of a column in a database, by default the one that the type names.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/outOfRange`` if the sum is not a number.
    public func sum<Value: BinaryFloatingPoint>(
        _ column: KeyPath<Record, Value>, in database: Database? = nil
    ) async throws -> Double {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try sumOfReals(column, in: $0) }
    }

    /// Returns the sum of the values that are not nil in a database, by default the one that the type names.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/outOfRange`` if the sum is not a number.
    public func sum<Value: BinaryFloatingPoint>(
        _ column: KeyPath<Record, Value?>, in database: Database? = nil
    ) async throws -> Double {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try sumOfReals(column, in: $0) }
    }

    /// Returns the average of the values that are not nil; nil if there are none.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/typeMismatch`` if the column does not hold numbers.
    public func average<Value>(_ column: KeyPath<Record, Value>, in snapshot: Snapshot) throws -> Double? {
        try average(.property(column), in: snapshot)
    }

    /// Returns the average of the values that are not nil in a database, by default the one that the type names.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/typeMismatch`` if the column does not hold numbers.
    public func average<Value>(_ column: KeyPath<Record, Value>, in database: Database? = nil) async throws -> Double? {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try average(column, in: $0) }
    }

    // MARK: Minimum and maximum

    /// Returns the least value in the order of the column; nil if there are no records.
    public func min<Value: Comparable>(_ column: KeyPath<Record, Value>, in snapshot: Snapshot) throws -> Value? {
        try extreme("min(%)", of: .property(column), in: snapshot)
    }

    /// Returns the least value that is not nil; nil if there is none.
    public func min<Value: Comparable>(_ column: KeyPath<Record, Value?>, in snapshot: Snapshot) throws -> Value? {
        try extreme("min(%)", of: .property(column), in: snapshot)
    }

    /// Returns the least value in a database, by default the one that the type names; nil if there are no records.
    public func min<Value: Comparable & Sendable>(
        _ column: KeyPath<Record, Value>, in database: Database? = nil
    ) async throws -> Value? {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try extreme("min(%)", of: column, in: $0) }
    }

    /// Returns the least value that is not nil in a database, by default the one that the type names.
    public func min<Value: Comparable & Sendable>(
        _ column: KeyPath<Record, Value?>, in database: Database? = nil
    ) async throws -> Value? {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try extreme("min(%)", of: column, in: $0) }
    }

    /// Returns the greatest value in the order of the column; nil if there are no records.
    public func max<Value: Comparable>(_ column: KeyPath<Record, Value>, in snapshot: Snapshot) throws -> Value? {
        try extreme("max(%)", of: .property(column), in: snapshot)
    }

    /// Returns the greatest value that is not nil; nil if there is none.
    public func max<Value: Comparable>(_ column: KeyPath<Record, Value?>, in snapshot: Snapshot) throws -> Value? {
        try extreme("max(%)", of: .property(column), in: snapshot)
    }

    /// Returns the greatest value in a database, by default the one that the type names; nil if there are no records.
    public func max<Value: Comparable & Sendable>(
        _ column: KeyPath<Record, Value>, in database: Database? = nil
    ) async throws -> Value? {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try extreme("max(%)", of: column, in: $0) }
    }

    /// Returns the greatest value that is not nil in a database, by default the one that the type names.
    public func max<Value: Comparable & Sendable>(
        _ column: KeyPath<Record, Value?>, in database: Database? = nil
    ) async throws -> Value? {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try extreme("max(%)", of: column, in: $0) }
    }

    // MARK: Groups

    /// Returns the number of records for each value of a column, sorted by the values.
    public func counts<Value>(
        by column: KeyPath<Record, Value>, in snapshot: Snapshot
    ) throws -> [(value: Value, count: Int)] {
        try counts(.property(column), in: snapshot)
    }

    /// Returns the number of records for each value of a column in a database, by default the one that the type names.
    public func counts<Value: Sendable>(
        by column: KeyPath<Record, Value>, in database: Database? = nil
    ) async throws -> [(value: Value, count: Int)] {
        let column = ColumnPath<Record>.property(column)
        return try await (database ?? Record.database()).readOnce { try counts(column, in: $0) }
    }
}
