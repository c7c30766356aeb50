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
            return try transaction.withStatement(text, of: table.name) { statement in
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
    /// as for any other change.
    @discardableResult
    public func update(_ changes: Assignment<Record>..., in transaction: Transaction) throws -> Int {
        try update(changes, in: transaction)
    }

    @discardableResult
    public func update(_ changes: Assignment<Record>..., in database: Database? = nil) async throws -> Int {
        try await (database ?? Record.database()).write { try update(changes, in: $0) }
    }

    @discardableResult
    public func update(_ changes: [Assignment<Record>], in transaction: Transaction) throws -> Int {
        guard !changes.isEmpty else { return 0 }
        let table = try transaction.table(of: Record.self)
        let all = changes + (try Assignment.implied(beside: changes, in: table))
        var text = SQLText("UPDATE \(table.name.quotedName) SET ")
        for (index, change) in all.enumerated() {
            if index > 0 { text.append(", ") }
            try text.append(change, in: table)
        }
        try append(rowsIn: table, to: &text)
        do {
            return try transaction.withStatement(text, of: table.name) { statement in
                try statement.run()
                return transaction.connection.changes
            }
        } catch let error as ActiveObjectError
            where error.code == .typeMismatch && changes.contains(where: \.canOverflow)
        {
            throw ActiveObjectError(
                .outOfRange, "an increment would take \(table.name) to a number that does not fit; nothing was changed",
                table: table.name, column: error.column, resultCode: error.resultCode)
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

    fileprivate var canOverflow: Bool {
        if case .increment = step { true } else { false }
    }

    /// What every change of a row brings with it, unless the caller says it.
    fileprivate static func implied(
        beside changes: [Assignment], in table: Table<Record>
    ) throws(ActiveObjectError) -> [Assignment] {
        var named: Set<String> = []
        for change in changes { named.insert(try change.column.field(in: table).column) }
        var implied: [Assignment] = []
        if let version = Record.versionColumn, !named.contains(try table.field(version).column) {
            implied.append(.increment(version))
        }
        if let updated = Record.timestamps?.updated, !named.contains(try table.field(updated).column) {
            implied.append(.set(updated, to: Date()))
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
            // A text is what a column of numbers refuses: SQLite undoes the whole statement.
            append("CASE WHEN \(name) IS NULL THEN NULL WHEN \(name) + ")
            bind(.integer(amount), for: field)
            append(" BETWEEN ")
            bind(.integer(range.lowerBound), for: field)
            append(" AND ")
            bind(.integer(range.upperBound), for: field)
            append(" THEN \(name) + ")
            bind(.integer(amount), for: field)
            append(" ELSE 'too large' END")
        }
    }
}
