/// Which records are meant, in which order: a value that can be kept, passed on and asked again.
///
/// ```swift
/// let winners = try await Person.where(\.age > 30).order(by: \.rank).limit(10).all()
/// let gone = try await Person.where(\.rank < 3).remove()
/// ```
///
/// Nothing happens until one of the verbs is called (`all`, `first`, `count`, `update`, …). Each verb has two forms:
/// with `in: snapshot` inside a `read` or `write`, and with `await`, in a transaction of its own.
public struct Query<Record: ActiveRecord>: Sendable {
    public private(set) var criteria: Criteria<Record> = .all
    private(set) var orders: [Order<Record>] = []
    private(set) var limitCount: Int?
    private(set) var offsetCount = 0

    public init() {}

    /// Only those that are like this too.
    public func `where`(_ criteria: Criteria<Record>) -> Query {
        var query = self
        query.criteria = query.criteria && criteria
        return query
    }

    /// In the order of a column; among those that are equal there, in the order that is named next.
    ///
    /// Nil comes before all else, or after it if `descending`. Records that are equal in all columns come in the order
    /// of their keys, so that an order is always one and the same.
    public func order<Value>(by column: KeyPath<Record, Value>, descending: Bool = false) -> Query {
        order([Order(column: .property(column), isDescending: descending)])
    }

    /// The same for several columns at once, after those that were named before.
    public func order(_ orders: [Order<Record>]) -> Query {
        var query = self
        query.orders += orders
        return query
    }

    /// At most so many; of two limits the smaller one counts.
    public func limit(_ count: Int) -> Query {
        var query = self
        query.limitCount = Swift.min(count, limitCount ?? count)
        return query
    }

    /// Without the first so many. The deeper, the slower: `page` goes on from where it was.
    public func offset(_ count: Int) -> Query {
        var query = self
        query.offsetCount = count
        return query
    }

    // MARK: Statements

    /// Whether SQLite may choose an index for the sake of the order. Without statistics it takes any that spares it to
    /// sort for better than one that finds the few rows of a list, and reads half a table.
    var orderChoosesIndex: Bool { !orders.isEmpty || !criteria.node.isNarrowedByList }

    /// LIMIT and OFFSET, where there is one.
    var isLimited: Bool { limitCount != nil || offsetCount != 0 }

    /// SELECT … FROM the table WHERE … and whatever else the query says.
    func select(_ columns: String, in table: Table<Record>, ordered: Bool, limit: Int? = nil) throws -> SQLText {
        var text = SQLText("SELECT \(columns) FROM \(table.name.quotedName)")
        try text.append(where: criteria, in: table)
        // Which rows are within a limit depends on their order.
        if ordered || isLimited { text.append(orderedBy: try orders(in: table)[...], choosesIndex: orderChoosesIndex) }
        try append(limit: limit, to: &text, of: table.name)
        return text
    }

    private func append(limit: Int?, to text: inout SQLText, of table: String) throws {
        guard limitCount.map({ $0 >= 0 }) ?? true, offsetCount >= 0 else {
            throw ActiveObjectError(.outOfRange, "a query of \(table) has a limit or an offset below 0", table: table)
        }
        guard isLimited || limit != nil else { return }
        let limits = [limit, limitCount].compactMap(\.self)
        text.append(" LIMIT ")
        text.bind(.integer(Int64(limits.min() ?? -1)))
        text.append(" OFFSET ")
        text.bind(.integer(Int64(offsetCount)))
    }

    /// What a statement that changes rows is about.
    func append(rowsIn table: Table<Record>, to text: inout SQLText) throws {
        guard isLimited else {
            // "WHERE 1" where all are meant: without WHERE, SQLite would empty the table as a whole and tell nobody
            // which rows that were.
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
    /// All records, to be narrowed.
    public static var query: Query<Self> { Query() }

    /// The records that are like this.
    public static func `where`(_ criteria: Criteria<Self>) -> Query<Self> { Query().where(criteria) }
}
