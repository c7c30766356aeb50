/// A description of records and their order. It is a value that can be stored, passed on and executed repeatedly.
///
/// ```swift
/// let winners = try await Person.where(\.age > 30).order(by: \.rank).limit(10).all()
/// let gone = try await Person.where(\.rank < 3).remove()
/// ```
///
/// Nothing is executed until a function such as `all`, `first`, `count` or `update` is called. Each of these functions
/// has two forms: with `in: snapshot` or `in: transaction` inside a ``Database/read(_:)`` or ``Database/write(_:)``,
/// and with `await` as a transaction of its own.
public struct Query<Record: ActiveRecord>: Sendable {
    /// The condition for the records.
    public private(set) var criteria: Criteria<Record> = .all
    private(set) var orders: [Order<Record>] = []
    private(set) var limitCount: Int?
    private(set) var offsetCount = 0

    /// Creates a query for all records of the type.
    public init() {}

    /// Returns this query limited to records that also satisfy `criteria`.
    public func `where`(_ criteria: Criteria<Record>) -> Query {
        var query = self
        query.criteria = query.criteria && criteria
        return query
    }

    /// Returns this query sorted by a column. Records that are equal there are sorted by the columns that are added
    /// later.
    ///
    /// Nil comes first, or last if `descending`. Records that are equal in all columns are sorted by their keys, so the
    /// order is always unique.
    ///
    /// - Parameters:
    ///   - column: The column.
    ///   - descending: Whether the greatest value comes first.
    public func order<Value>(by column: KeyPath<Record, Value>, descending: Bool = false) -> Query {
        order([Order(column: .property(column), isDescending: descending)])
    }

    /// Returns this query sorted by several columns, after those that were added before.
    public func order(_ orders: [Order<Record>]) -> Query {
        var query = self
        query.orders += orders
        return query
    }

    /// Returns this query with a maximum number of records. If there already is a limit, the smaller one applies.
    public func limit(_ count: Int) -> Query {
        var query = self
        query.limitCount = Swift.min(count, limitCount ?? count)
        return query
    }

    /// Returns this query without its first `count` records. A large offset is slow; use
    /// ``page(size:after:in:)-(_,_,Snapshot)`` to read a large result in parts.
    public func offset(_ count: Int) -> Query {
        var query = self
        query.offsetCount = count
        return query
    }

    // MARK: Statements

    /// Whether SQLite may choose an index for the order. Without statistics it prefers an index that avoids sorting to
    /// one that finds the few rows of a list, and then reads half a table.
    var orderChoosesIndex: Bool { !orders.isEmpty || !criteria.node.isNarrowedByList }

    /// Whether the query has a LIMIT or an OFFSET.
    var isLimited: Bool { limitCount != nil || offsetCount != 0 }

    /// Returns SELECT … FROM the table with WHERE, ORDER BY and LIMIT of the query.
    func select(_ columns: String, in table: Table<Record>, ordered: Bool, limit: Int? = nil) throws -> SQLText {
        var text = SQLText("SELECT \(columns) FROM \(table.name.quotedName)")
        try text.append(where: criteria, in: table)
        // The order decides which rows are within a limit.
        if ordered || isLimited { text.append(orderedBy: try orders(in: table)[...], choosesIndex: orderChoosesIndex) }
        try append(limit: limit, to: &text, of: table.name)
        return text
    }

    private func append(limit: Int?, to text: inout SQLText, of table: String) throws {
        guard limitCount.map({ $0 >= 0 }) ?? true, offsetCount >= 0 else {
            throw ActiveObjectError(
                .outOfRange, message: "a query of \(table) has a negative limit or offset", table: table)
        }
        guard isLimited || limit != nil else { return }
        let limits = [limit, limitCount].compactMap(\.self)
        text.append(" LIMIT ")
        text.bind(.integer(Int64(limits.min() ?? -1)))
        text.append(" OFFSET ")
        text.bind(.integer(Int64(offsetCount)))
    }

    /// Appends the condition for the rows of a statement that changes rows.
    func append(rowsIn table: Table<Record>, to text: inout SQLText) throws {
        guard isLimited else {
            // "WHERE 1" for all rows: without WHERE, SQLite empties the table as a whole and does not report which rows
            // it removes.
            text.append(" WHERE ")
            return try text.append(criteria, in: table)
        }
        let id = table.fields[0].column.quotedName
        text.append(" WHERE \(id) IN (")
        text.append(try select(id, in: table, ordered: true))
        text.append(")")
    }
}

extension ActiveRecord {
    /// A query for all records of the type.
    public static var query: Query<Self> { Query() }

    /// Returns a query for the records that satisfy `criteria`.
    public static func `where`(_ criteria: Criteria<Self>) -> Query<Self> { Query().where(criteria) }
}
