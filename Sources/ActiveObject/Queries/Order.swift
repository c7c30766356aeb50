/// One column that records are put in the order of.
public struct Order<Record: ActiveRecord>: Sendable {
    let column: ColumnPath<Record>
    let isDescending: Bool

    public static func ascending<Value>(_ column: KeyPath<Record, Value>) -> Order {
        Order(column: .property(column), isDescending: false)
    }

    public static func descending<Value>(_ column: KeyPath<Record, Value>) -> Order {
        Order(column: .property(column), isDescending: true)
    }
}

/// An order whose column is known, by its place in the table.
struct ResolvedOrder {
    let index: Int
    let column: String
    let isOptional: Bool
    let isDescending: Bool
}

extension Query {
    /// The columns of the order up to the key, which makes it one order only.
    func orders(in table: Table<Record>) throws(ActiveObjectError) -> [ResolvedOrder] {
        var resolved: [ResolvedOrder] = []
        for order in orders {
            let field = try order.column.field(in: table)
            guard let index = table.fields.firstIndex(where: { $0.column == field.column }) else { continue }
            // Named again, it has nothing left to decide.
            guard !resolved.contains(where: { $0.index == index }) else { continue }
            resolved.append(
                ResolvedOrder(
                    index: index, column: field.column, isOptional: index > 0 && field.codec.isOptional,
                    isDescending: order.isDescending))
            if index == 0 { return resolved }
        }
        // In the direction of the last one: so that an index, which ends with the key, can be read either way.
        resolved.append(
            ResolvedOrder(
                index: 0, column: table.fields[0].column, isOptional: false,
                isDescending: resolved.last?.isDescending ?? false))
        return resolved
    }
}

extension SQLText {
    /// - Parameter choosesIndex: false: SQLite has to sort, by whichever index it finds the rows.
    mutating func append(orderedBy orders: ArraySlice<ResolvedOrder>, choosesIndex: Bool) {
        let terms = orders.map { (choosesIndex ? "" : "+") + $0.column.quotedName + ($0.isDescending ? " DESC" : "") }
        append(" ORDER BY \(terms.joined(separator: ", "))")
    }
}
