/// A part of the result of a query, with the position of the next part.
public struct Page<Record: ActiveRecord>: Sendable {
    /// The records of the page.
    public let records: [Record]
    /// The position after the last record; nil if there are no more records.
    public let next: Position<Record>?
}

extension Query {
    /// Returns the first `size` records after a position, or from the beginning.
    ///
    /// ```swift
    /// let first = try await Person.query.order(by: \.name).page(size: 100)
    /// let second = try await Person.query.order(by: \.name).page(size: 100, after: first.next)
    /// ```
    ///
    /// The position is that of a record, not a number. If other records are added or removed between two pages, no
    /// record is returned twice or skipped. Only a record whose own position changes, because a column of the order
    /// changes, can be skipped or returned again. With an index on the query's order, every page costs the same; a
    /// query without an order uses the key and needs no index.
    ///
    /// The query must have the same order as the query that returned the position. It may have other criteria, but
    /// neither a limit nor an offset.
    ///
    /// - Parameters:
    ///   - size: The maximum number of records; at least 1.
    ///   - position: The position after which the page begins; nil for the first page.
    ///   - snapshot: The state of the database to read.
    /// - Throws: ``ActiveObjectError/Code-swift.struct/badPosition`` if the position does not fit the query.
    public func page(size: Int, after position: Position<Record>? = nil, in snapshot: Snapshot) throws -> Page<Record> {
        let table = try snapshot.table(of: Record.self)
        guard size > 0, size < Int32.max, !isLimited else {
            throw ActiveObjectError(
                .outOfRange,
                message: "a page of \(table.name) needs a size above 0, and a query without limit and offset",
                table: table.name)
        }
        let orders = try orders(in: table)
        let signature = Position<Record>.signature(of: table.name, orderedBy: orders)
        let steps = try position.map { try $0.steps(for: orders, signature: signature, in: table) } ?? [PageStep()]
        var records: [Record] = []
        var last: [SQLValue]?
        for step in steps {
            let text = try select(step, orderedBy: orders, in: table, limit: size - records.count + 1)
            let isFull = try snapshot.withStatement(text, of: table.name) { statement in
                while try statement.step() {
                    if records.count == size { return true }
                    records.append(try table.record(from: statement))
                    if records.count == size { last = try table.values(of: orders, from: statement) }
                }
                return false
            }
            if isFull { return Page(records: records, next: last.map { Position(signature: signature, values: $0) }) }
        }
        return Page(records: records, next: nil)
    }

    /// Returns the first `size` records after a position in the current state of a database, by default the one that
    /// the type names; see ``page(size:after:in:)-(_,_,Snapshot)``.
    public func page(
        size: Int, after position: Position<Record>? = nil, in database: Database? = nil
    ) async throws -> Page<Record> {
        try await (database ?? Record.database()).read { try page(size: size, after: position, in: $0) }
    }

    func select(
        _ step: PageStep, orderedBy orders: [ResolvedOrder], in table: Table<Record>, limit: Int
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
/// The rows after a row are, in this order: rows that equal it in all columns except the last and come after it there;
/// rows that equal it in all columns except the last two; and so on up to rows that come after it in the first column.
/// Each of these parts is one range of an index, for any directions and any number of equal or NULL values. A single
/// condition for all of them is not. Most pages are full after one or two statements.
struct PageStep {
    /// The values of the first columns.
    var equal: [SQLValue] = []
    /// The condition for the next column: "> " and the value, or "IS NULL" without a value.
    var behind: (comparison: String, value: SQLValue?)?
}

extension Position {
    func steps(
        for orders: [ResolvedOrder], signature: UInt64, in table: Table<Record>
    ) throws(ActiveObjectError) -> [PageStep] {
        guard self.signature == signature, values.count == orders.count else {
            throw Self.error("is of a query in another order, or of another type", in: table.name)
        }
        var steps: [PageStep] = []
        for (index, (order, value)) in zip(orders, values).enumerated() {
            // A table of another program may hold a whole number in a column of reals.
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
            // Nil sorts before all other values. So all others come after it in ascending order, and none in descending
            // order.
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
    /// Returns the values of the order's columns as they are in the file, which may differ from how the record would be
    /// saved.
    fileprivate func values(of orders: [ResolvedOrder], from statement: Statement) throws(ActiveObjectError)
        -> [SQLValue]
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
