/// A part of what a query finds, and where the next part begins.
public struct Page<Record: ActiveRecord>: Sendable {
    public let records: [Record]
    /// Nil: there was nothing behind them.
    public let next: Position<Record>?
}

extension Query {
    /// The first `size` records behind a position, or from the beginning.
    ///
    /// ```swift
    /// let first = try await Person.query.order(by: \.name).page(size: 100)
    /// let second = try await Person.query.order(by: \.name).page(size: 100, after: first.next)
    /// ```
    ///
    /// The position is that of a record, not a number: whatever is added or removed elsewhere meanwhile, no record comes
    /// twice and none is left out. Only a record that is itself moved from behind the position to before it, by a change
    /// of a column in the order, is not met, and one that is moved the other way comes again. With an index in the query's order the thousandth page costs what the first does; a
    /// query without an order goes by the key, which needs none.
    ///
    /// The query must have the order that the position was made with; it may have other criteria, but no limit and no
    /// offset. Throws `badPosition` if the position does not fit.
    public func page(size: Int, after position: Position<Record>? = nil, in snapshot: Snapshot) throws -> Page<Record> {
        let table = try snapshot.table(of: Record.self)
        guard size > 0, size < Int32.max, !isLimited else {
            throw ActiveObjectError(
                .outOfRange, "a page of \(table.name) needs a size above 0, and a query without limit and offset",
                table: table.name)
        }
        let orders = try orders(in: table)
        let signature = Position<Record>.signature(of: table.name, orders)
        let steps = try position.map { try $0.steps(orders, signature: signature, in: table) } ?? [PageStep()]
        var records: [Record] = []
        var last: [SQLValue]?
        for step in steps {
            let text = try select(step, orders, in: table, limit: size - records.count + 1)
            let isFull = try snapshot.withStatement(text, of: table.name) { statement in
                while try statement.step() {
                    if records.count == size { return true }
                    records.append(try table.record(statement))
                    if records.count == size { last = try table.values(of: orders, statement) }
                }
                return false
            }
            if isFull { return Page(records: records, next: last.map { Position(signature: signature, values: $0) }) }
        }
        return Page(records: records, next: nil)
    }

    public func page(
        size: Int, after position: Position<Record>? = nil, in database: Database? = nil
    ) async throws -> Page<Record> {
        try await (database ?? Record.database()).read { try page(size: size, after: position, in: $0) }
    }

    func select(
        _ step: PageStep, _ orders: [ResolvedOrder], in table: Table<Record>, limit: Int
    ) throws -> SQLText {
        var text = SQLText("SELECT \(table.columnList) FROM \(table.name.quotedName) WHERE ")
        for (order, value) in zip(orders, step.equal) {
            text.append(order.column.quotedName)
            text.append(value == .null ? " IS NULL AND " : " = ")
            if value != .null {
                text.bind(value)
                text.append(" AND ")
            }
        }
        if let (comparison, value) = step.behind {
            text.append("\(orders[step.equal.count].column.quotedName) \(comparison)")
            if let value { text.bind(value) }
            text.append(" AND ")
        }
        try text.append(criteria, in: table)
        text.append(orderedBy: orders[step.equal.count...], choosesIndex: orderChoosesIndex)
        text.append(" LIMIT ")
        text.bind(.integer(Int64(limit)))
        return text
    }
}

/// One statement of a page.
///
/// What lies behind a row is, in this order: rows that equal it in all columns but the last and lie behind it there; rows
/// that equal it in all but the last two; and so on to those that lie behind it in the first. Each of these is one range
/// of an index, whatever the directions and however many rows are equal or NULL; a single condition for all of them is
/// not. As most pages are full after the first of them or the second, it costs little more.
struct PageStep {
    /// The values of the first columns.
    var equal: [SQLValue] = []
    /// How the column after these lies behind its value: "> " and the value, or "IS NULL" and none.
    var behind: (comparison: String, value: SQLValue?)?
}

extension Position {
    func steps(
        _ orders: [ResolvedOrder], signature: UInt64, in table: Table<Record>
    ) throws(ActiveObjectError) -> [PageStep] {
        guard self.signature == signature, values.count == orders.count else {
            throw Self.error("is of a query in another order, or of another type", in: table.name)
        }
        var steps: [PageStep] = []
        for (index, (order, value)) in zip(orders, values).enumerated() {
            // A table that another program made may hold a whole number where a real is meant.
            let fits =
                switch (table.fields[order.index].codec.valueClass, value.valueClass) {
                case (.real, .integer): true
                case (_, .null): order.isOptional
                case (let wanted, let found): wanted == found
                }
            guard fits else {
                throw Self.error("holds a value that \(table.name).\(order.column) cannot have", in: table.name)
            }
            let equal = Array(values[..<index])
            // Nil is before all else, so behind it is all else; the other way round, it is behind all else.
            switch (value == .null, order.isDescending) {
            case (true, false): steps.append(PageStep(equal: equal, behind: ("IS NOT NULL", nil)))
            case (true, true): break
            case (false, false): steps.append(PageStep(equal: equal, behind: ("> ", value)))
            case (false, true):
                if order.isOptional { steps.append(PageStep(equal: equal, behind: ("IS NULL", nil))) }
                steps.append(PageStep(equal: equal, behind: ("< ", value)))
            }
        }
        return steps.reversed()
    }
}

extension Table {
    /// What a row has in the columns of an order: as it is in the file, which need not be how the record would save it.
    fileprivate func values(of orders: [ResolvedOrder], _ statement: Statement) throws(ActiveObjectError) -> [SQLValue]
    {
        var values: [SQLValue] = []
        for order in orders {
            do throws(ColumnFault) {
                values.append(try statement.value(Int32(order.index)))
            } catch {
                throw self.error(error, in: fields[order.index])
            }
        }
        return values
    }
}
