/// A column by which records are sorted, with a direction.
public struct Order<Record: ActiveRecord>: Sendable {
    let column: ColumnPath<Record>
    let isDescending: Bool

    /// Returns an ascending order. Nil comes first.
    public static func ascending<Value>(_ column: KeyPath<Record, Value>) -> Order {
        Order(column: .property(column), isDescending: false)
    }

    /// Returns a descending order. Nil comes last.
    public static func descending<Value>(_ column: KeyPath<Record, Value>) -> Order {
        Order(column: .property(column), isDescending: true)
    }
}

/// An order with the column resolved to its index in the table.
struct ResolvedOrder {
    let index: Int
    let column: String
    let isOptional: Bool
    let isDescending: Bool
}

extension Query {
    /// Returns the columns of the order, followed by the key, which makes the order unique.
    func orders(in table: Table<Record>) throws(ActiveObjectError) -> [ResolvedOrder] {
        var resolved: [ResolvedOrder] = []
        for order in orders {
            let field = try order.column.field(in: table)
            guard let index = table.fields.firstIndex(where: { $0.column == field.column }) else { continue }
            // A column that is named again has no effect.
            guard !resolved.contains(where: { $0.index == index }) else { continue }
            resolved.append(
                ResolvedOrder(
                    index: index, column: field.column, isOptional: index > 0 && field.codec.isOptional,
                    isDescending: order.isDescending))
            if index == 0 { return resolved }
        }
        // The key has the direction of the last column, so that an index, which ends with the key, can be read in
        // either direction.
        resolved.append(
            ResolvedOrder(
                index: 0, column: table.fields[0].column, isOptional: false,
                isDescending: resolved.last?.isDescending ?? false))
        return resolved
    }
}

extension SQLText {
    /// - Parameter choosesIndex: Whether SQLite may choose an index for the order. If not, it sorts the rows.
    mutating func append(orderedBy orders: ArraySlice<ResolvedOrder>, choosesIndex: Bool) {
        let terms = orders.map { (choosesIndex ? "" : "+") + $0.column.quotedName + ($0.isDescending ? " DESC" : "") }
        append(" ORDER BY \(terms.joined(separator: ", "))")
    }
}
