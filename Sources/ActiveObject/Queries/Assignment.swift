import FoundationEssentials

/// What `update` does to one column.
public struct Assignment<Record: ActiveRecord>: Sendable {
    fileprivate enum Step: Sendable {
        case set(any Sendable)
        case increment(Int64, within: ClosedRange<Int64>)
        case add(Double)
    }

    let column: ColumnPath<Record>
    fileprivate let step: Step

    public static func set<Value: Sendable>(_ column: WritableKeyPath<Record, Value>, to value: Value) -> Assignment {
        Assignment(column: .property(column), step: .set(value))
    }

    /// Adds to what is there. If the sum of one row does not fit the property, `update` throws `outOfRange`.
    public static func increment<Value: FixedWidthInteger>(
        _ column: WritableKeyPath<Record, Value>, by amount: Int64 = 1
    ) -> Assignment {
        let range = Int64(clamping: Value.min)...Int64(clamping: Value.max)
        return Assignment(column: .property(column), step: .increment(amount, within: range))
    }

    /// The same where the column is not nil; nil stays nil.
    public static func increment<Value: FixedWidthInteger>(
        _ column: WritableKeyPath<Record, Value?>, by amount: Int64 = 1
    ) -> Assignment {
        let range = Int64(clamping: Value.min)...Int64(clamping: Value.max)
        return Assignment(column: .property(column), step: .increment(amount, within: range))
    }

    public static func increment(_ column: WritableKeyPath<Record, Double>, by amount: Double) -> Assignment {
        Assignment(column: .property(column), step: .add(amount))
    }

    public static func increment(_ column: WritableKeyPath<Record, Double?>, by amount: Double) -> Assignment {
        Assignment(column: .property(column), step: .add(amount))
    }

    var canOverflow: Bool {
        if case .increment = step { true } else { false }
    }

    /// What every change of a row brings with it, unless the caller says it.
    static func implied(
        beside changes: [Assignment], in table: Table<Record>, now: Date
    ) throws(ActiveObjectError) -> [Assignment] {
        var named: Set<String> = []
        for change in changes {
            let column = try change.column.field(in: table).column
            // SQLite would do the last of them and forget the others.
            guard named.insert(column).inserted else {
                throw ActiveObjectError(
                    .badSQL, "\(table.name).\(column) is changed twice in one update: say it once", table: table.name,
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
                .badSQL, "\(table.name).\(field.column) is the key of a row and cannot be changed", table: table.name,
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
            // The value of before is what is looked at: the sum may be more than 64 bits, and is rounded then.
            let (lower, upper) = range.before(adding: amount)
            append("CASE WHEN \(name) IS NULL THEN NULL WHEN \(name) BETWEEN ")
            bind(.integer(lower), for: field)
            append(" AND ")
            bind(.integer(upper), for: field)
            append(" THEN \(name) + ")
            bind(.integer(amount), for: field)
            // An error, in every table: SQLite undoes the whole statement.
            append(" ELSE abs(-9223372036854775807 - 1) END")
        }
    }
}

extension ClosedRange<Int64> {
    /// From where to where a number must be to be in this range with `amount` added. None is if the second is less than
    /// the first.
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
