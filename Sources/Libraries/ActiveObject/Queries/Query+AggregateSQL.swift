// The statements of the aggregates. `%` in an expression stands for the column.

extension Query {
    func integer(_ expression: String, of column: ColumnPath<Record>?, in snapshot: Snapshot) throws -> Int {
        try aggregate(expression, of: column, in: snapshot) { statement, _, _ in Int(try statement.integer(0)) }
    }

    func sumOfIntegers(_ column: ColumnPath<Record>, in snapshot: Snapshot) throws -> Int {
        try checkIsNumeric(column, in: snapshot)
        do {
            return try integer("coalesce(sum(%), 0)", of: column, in: snapshot)
        } catch let error as ActiveObjectError where error.cause == .integerOverflow {
            // An intermediate sum overflowed, but the total may fit. The sums of the halves do not overflow for up to
            // two billion rows.
            return try aggregate("sum(% >> 32), sum(% & 4294967295)", of: column, in: snapshot) { statement, _, _ in
                let sum = Int128(try statement.integer(0)) << 32 + Int128(try statement.integer(1))
                guard let fitting = Int(exactly: sum) else {
                    throw ColumnFault.outOfRange(type: "Int: the sum of all is too large")
                }
                return fitting
            }
        }
    }

    func sumOfReals(_ column: ColumnPath<Record>, in snapshot: Snapshot) throws -> Double {
        try checkIsNumeric(column, in: snapshot)
        return try aggregate("sum(%), count(%)", of: column, in: snapshot) { statement, table, field in
            if try statement.integer(1) == 0 { return 0 }
            if statement.isNull(0) { throw ColumnFault.outOfRange(type: "Double: the sum is not a number") }
            return try statement.real(0)
        }
    }

    func average(_ column: ColumnPath<Record>, in snapshot: Snapshot) throws -> Double? {
        try checkIsNumeric(column, in: snapshot)
        return try aggregate("avg(%)", of: column, in: snapshot) { statement, _, _ in
            statement.isNull(0) ? nil : try statement.real(0)
        }
    }

    func extreme<Value>(_ expression: String, of column: ColumnPath<Record>, in snapshot: Snapshot) throws -> Value? {
        try aggregate(expression, of: column, in: snapshot) { statement, table, field in
            guard !(field.codec is any UnorderedCodec.Type) else { throw table.hasNoOrder(field) }
            return statement.isNull(0) ? nil : try read(from: statement, at: 0, with: field.codec)
        }
    }

    func counts<Value>(_ column: ColumnPath<Record>, in snapshot: Snapshot) throws -> [(value: Value, count: Int)] {
        let table = try snapshot.table(of: Record.self)
        let field = try column.field(in: table)
        let name = field.column.quotedName
        var text = try statement("SELECT \(name), count(*)", over: name, in: table)
        text.append(" GROUP BY 1 ORDER BY 1")
        return try snapshot.withStatement(text, of: table.name) { statement in
            var counts: [(value: Value, count: Int)] = []
            while try statement.step() {
                do throws(ColumnFault) {
                    counts.append((try read(from: statement, at: 0, with: field.codec), Int(try statement.integer(1))))
                } catch {
                    throw table.error(error, in: field)
                }
            }
            return counts
        }
    }

    private func checkIsNumeric(_ column: ColumnPath<Record>, in snapshot: Snapshot) throws {
        let table = try snapshot.table(of: Record.self)
        let field = try column.field(in: table)
        guard field.codec.valueClass == .integer || field.codec.valueClass == .real else {
            throw ActiveObjectError(
                .typeMismatch,
                message: "\(table.name).\(field.column) holds \(field.codec.valueClass), which cannot be summed",
                table: table.name, column: field.column, valueClass: field.codec.valueClass)
        }
    }

    /// Calls `body` with the only row of an expression.
    private func aggregate<Result>(
        _ expression: String, of column: ColumnPath<Record>?, in snapshot: Snapshot,
        body: (Statement, Table<Record>, Table<Record>.Field) throws -> Result
    ) throws -> Result {
        let table = try snapshot.table(of: Record.self)
        let field = try column?.field(in: table) ?? table.fields[0]
        let name = field.column.quotedName
        let expression = expression.split(separator: "%", omittingEmptySubsequences: false).joined(separator: name)
        let text = try statement("SELECT \(expression)", over: name, in: table)
        return try snapshot.withStatement(text, of: table.name) { statement in
            _ = try statement.step()
            do {
                return try body(statement, table, field)
            } catch let fault as ColumnFault {
                throw table.error(fault, in: field)
            }
        }
    }

    /// Returns `select` FROM the rows of the query: those of the table, or those within the limit.
    private func statement(_ select: String, over column: String, in table: Table<Record>) throws -> SQLText {
        guard isLimited else {
            var text = SQLText("\(select) FROM \(table.name.quotedName)")
            try text.append(where: criteria, in: table)
            return text
        }
        var text = SQLText("\(select) FROM (")
        text.append(try self.select(column, in: table, ordered: true))
        text.append(")")
        return text
    }
}

/// Reads a value with its column's codec, for a caller that knows the type.
private func read<Codec: ColumnCodec, Value>(
    from statement: Statement, at index: Int32, with codec: Codec.Type
) throws(ColumnFault) -> Value {
    guard let value = try Codec.read(from: statement, at: index) as? Value else { throw .notOfType("\(Value.self)") }
    return value
}
