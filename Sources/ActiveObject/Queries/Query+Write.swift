import FoundationEssentials

extension Query {
    /// Removes the rows by one statement and returns their number.
    ///
    /// It works on the set: no `willRemove` or `didRemove` is called. What references say about removing holds.
    @discardableResult
    public func remove(in transaction: Transaction) throws -> Int {
        let table = try transaction.table(of: Record.self)
        var text = SQLText("DELETE FROM \(table.name.quotedName)")
        try append(rowsIn: table, to: &text)
        do {
            return try transaction.connection.withStatement(text, of: table.name) { statement in
                try statement.run()
                return transaction.connection.changes
            }
        } catch {
            throw transaction.connection.explained(error, removing: nil, from: table.name)
        }
    }

    @discardableResult
    public func remove(in database: Database? = nil) async throws -> Int {
        try await (database ?? Record.database()).write { try remove(in: $0) }
    }

    /// Changes columns of the rows by one statement and returns the number of rows.
    ///
    /// ```swift
    /// try await Person.where(\.rank < 3).update(.set(\.active, to: false), .increment(\.votes))
    /// ```
    ///
    /// It works on the set: no rule is looked at and no `willSave` or `didSave` called; constraints of the table hold,
    /// and if one row breaks them, none is changed. A version column counts, and the date of the last save is set,
    /// as for any other change. Throws `badSQL` if a column is changed twice.
    @discardableResult
    public func update(_ changes: Assignment<Record>..., in transaction: Transaction) throws -> Int {
        try update(changes, in: transaction)
    }

    @discardableResult
    public func update(_ changes: Assignment<Record>..., in database: Database? = nil) async throws -> Int {
        try await (database ?? Record.database()).write { try update(changes, in: $0) }
    }

    @discardableResult
    public func update(_ changes: [Assignment<Record>], in database: Database? = nil) async throws -> Int {
        try await (database ?? Record.database()).write { try update(changes, in: $0) }
    }

    @discardableResult
    public func update(_ changes: [Assignment<Record>], in transaction: Transaction) throws -> Int {
        guard !changes.isEmpty else { return 0 }
        let table = try transaction.table(of: Record.self)
        let all = changes + (try Assignment.implied(beside: changes, in: table, now: transaction.now))
        var text = SQLText("UPDATE \(table.name.quotedName) SET ")
        for (index, change) in all.enumerated() {
            if index > 0 { text.append(", ") }
            try text.append(change, in: table)
        }
        try append(rowsIn: table, to: &text)
        do {
            return try transaction.connection.withStatement(text, of: table.name) { statement in
                try statement.run()
                return transaction.connection.changes
            }
        } catch let error as ActiveObjectError where error.message.contains("integer overflow") {
            let increments = all.filter(\.canOverflow)
            guard let first = increments.first else { throw error }
            let column = try increments.count == 1 ? first.column.field(in: table).column : nil
            throw ActiveObjectError(
                .outOfRange,
                """
                an increment would take \(table.name)\(column.map { ".\($0)" } ?? "") to a number that does not fit; \
                nothing was changed
                """, table: table.name, column: column, resultCode: error.resultCode)
        }
    }
}

/// What `update` does to one column.
public struct Assignment<Record: ActiveRecord>: Sendable {
    fileprivate enum Step: Sendable {
        case set(any Sendable)
        case increment(Int64, within: ClosedRange<Int64>)
        case add(Double)
    }

    fileprivate let column: ColumnPath<Record>
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

    fileprivate var canOverflow: Bool {
        if case .increment = step { true } else { false }
    }

    /// What every change of a row brings with it, unless the caller says it.
    fileprivate static func implied(
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
    fileprivate mutating func append<Record>(
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
