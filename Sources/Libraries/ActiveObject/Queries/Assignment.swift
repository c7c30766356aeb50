import FoundationEssentials

/// A change of one column by an `update` of a ``Query``.
public struct Assignment<Record: ActiveRecord>: Sendable {
    fileprivate enum Step: Sendable {
        case set(any Sendable)
        case increment(Int64, within: ClosedRange<Int64>)
        case add(Double)
    }

    let column: ColumnPath<Record>
    fileprivate let step: Step

    /// Returns an assignment of a value to a column.
    ///
    /// - Parameters:
    ///   - column: The column.
    ///   - value: The new value.
    public static func set<Value: Sendable>(_ column: WritableKeyPath<Record, Value>, to value: Value) -> Assignment {
        Assignment(column: .property(column), step: .set(value))
    }

    /// Returns an assignment that adds to the current value. If the sum does not fit the property in some row, `update`
    /// throws ``ActiveObjectError/Code-swift.struct/outOfRange``.
    ///
    /// - Parameters:
    ///   - column: The column.
    ///   - amount: The number to add; it can be negative.
    public static func increment<Value: FixedWidthInteger>(
        _ column: WritableKeyPath<Record, Value>, by amount: Int64 = 1
    ) -> Assignment {
        let range = Int64(clamping: Value.min)...Int64(clamping: Value.max)
        return Assignment(column: .property(column), step: .increment(amount, within: range))
    }

    /// Returns an assignment that adds to the current value if it is not nil. If the sum does not fit the property in
    /// some row, `update` throws ``ActiveObjectError/Code-swift.struct/outOfRange``.
    ///
    /// - Parameters:
    ///   - column: The column.
    ///   - amount: The number to add; it can be negative.
    public static func increment<Value: FixedWidthInteger>(
        _ column: WritableKeyPath<Record, Value?>, by amount: Int64 = 1
    ) -> Assignment {
        let range = Int64(clamping: Value.min)...Int64(clamping: Value.max)
        return Assignment(column: .property(column), step: .increment(amount, within: range))
    }

    /// Returns an assignment that adds to the current value.
    public static func increment(_ column: WritableKeyPath<Record, Double>, by amount: Double) -> Assignment {
        Assignment(column: .property(column), step: .add(amount))
    }

    /// Returns an assignment that adds to the current value if it is not nil.
    public static func increment(_ column: WritableKeyPath<Record, Double?>, by amount: Double) -> Assignment {
        Assignment(column: .property(column), step: .add(amount))
    }

    var canOverflow: Bool {
        if case .increment = step { true } else { false }
    }

    /// Returns the assignments that are part of every update, unless the caller makes them itself.
    static func implied(
        beside changes: [Assignment], in table: Table<Record>, now: Date
    ) throws(ActiveObjectError) -> [Assignment] {
        var named: Set<String> = []
        for change in changes {
            let column = try change.column.field(in: table).column
            // SQLite would apply only the last of them.
            guard named.insert(column).inserted else {
                throw ActiveObjectError(
                    .badSQL, message: "\(table.name).\(column) is changed twice in one update; change it once",
                    table: table.name,
                    column: column)
            }
        }
        var implied: [Assignment] = []
        if let version = Record.versionColumn, !named.contains(try table.field(version).column) {
            implied.append(.increment(version))
        }
        if let updated = Record.timestamps?.updated, !named.contains(try table.field(updated).column) {
            implied.append(.set(updated, to: now))
        }
        return implied
    }
}

extension SQLText {
    mutating func append<Record>(
        _ change: Assignment<Record>, in table: Table<Record>
    ) throws(ActiveObjectError) {
        let field = try change.column.field(in: table)
        let name = field.column.quotedName
        guard field.column != table.fields[0].column else {
            throw ActiveObjectError(
                .badSQL, message: "\(table.name).\(field.column) is the key of a row and cannot be changed",
                table: table.name,
                column: field.column)
        }
        append("\(name) = ")
        switch change.step {
        case .set(let value): bind(try table.stored(value, in: field), for: field)
        case .add(let amount):
            if amount.isNaN { throw table.error(.notANumber, in: field) }
            append("\(name) + ")
            bind(.real(amount), for: field)
        case .increment(let amount, let range):
            // Compare the value before the addition, because the sum may exceed 64 bits and would be rounded.
            let (lower, upper) = range.before(adding: amount)
            append("CASE WHEN \(name) IS NULL THEN NULL WHEN \(name) BETWEEN ")
            bind(.integer(lower), for: field)
            append(" AND ")
            bind(.integer(upper), for: field)
            append(" THEN \(name) + ")
            bind(.integer(amount), for: field)
            // abs() of this number is an error, which makes SQLite undo the whole statement.
            append(" ELSE abs(-9223372036854775807 - 1) END")
        }
    }
}

extension ClosedRange<Int64> {
    /// Returns the range of numbers that are in this range after adding `amount`. The range is empty if the second
    /// bound is less than the first.
    fileprivate func before(adding amount: Int64) -> (Int64, Int64) {
        let lower = lowerBound.subtractingReportingOverflow(amount)
        let upper = upperBound.subtractingReportingOverflow(amount)
        switch (amount < 0, lower.overflow, upper.overflow) {
        case (true, true, _): return (1, 0)
        case (false, _, true): return (1, 0)
        default: return (lower.overflow ? .min : lower.partialValue, upper.overflow ? .max : upper.partialValue)
        }
    }
}
