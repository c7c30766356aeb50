/// A test of one column.
struct Condition<Record: ActiveRecord>: Sendable {
    enum Order: Sendable {
        case less, lessOrEqual, greater, greaterOrEqual

        var sql: String {
            switch self {
            case .less: "<"
            case .lessOrEqual: "<="
            case .greater: ">"
            case .greaterOrEqual: ">="
            }
        }

        var negated: Order {
            switch self {
            case .less: .greaterOrEqual
            case .lessOrEqual: .greater
            case .greater: .lessOrEqual
            case .greaterOrEqual: .less
            }
        }
    }

    enum Test: Sendable {
        case equals(any Sendable)
        case compares(Order, any Sendable)
        case isIn([any Sendable])
        case isNil
        case like(String, escape: Unicode.Scalar?)
        case hasPrefix(String)
        case contains(String)
        /// A value as the column stores it, whose type the compiler has not checked.
        case holds(SQLValue)
    }

    let column: ColumnPath<Record>
    let test: Test
}

extension SQLText {
    mutating func append<Record>(
        _ condition: Condition<Record>, isNegated: Bool, in table: Table<Record>
    ) throws(ActiveObjectError) {
        let field = try condition.column.field(in: table)
        switch condition.test {
        case .equals(let value):
            appendEquality(of: field, with: try table.stored(value, in: field), isNegated: isNegated)
        case .holds(let value):
            appendEquality(of: field, with: try table.checked(value, in: field), isNegated: isNegated)
        case .compares(let order, let value):
            try appendComparison(of: field, in: table, by: order, with: value, isNegated: isNegated)
        case .isNil:
            append("\(field.column.quotedName) IS \(isNegated ? "NOT " : "")NULL")
        case .isIn(let values):
            var stored: [SQLValue] = []
            stored.reserveCapacity(values.count)
            for value in values { stored.append(try table.stored(value, in: field)) }
            var test = SQLText()
            try test.appendMembership(of: field, in: stored, table: table.name)
            append(test, isNegated: isNegated, for: field)
        case .like(let pattern, let escape):
            append(try .like(pattern, escape: escape, for: field, table: table.name), isNegated: isNegated, for: field)
        case .hasPrefix(let prefix):
            append(.hasPrefix(prefix, for: field), isNegated: isNegated, for: field)
        case .contains(let part):
            var test = SQLText("instr(\(field.column.quotedName), ")
            test.bind(.text(part), for: field)
            test.append(") > 0")
            append(test, isNegated: isNegated, for: field)
        }
    }

    /// Appends a test that is NULL if the column is NULL, which counts as false. Its negation is then true.
    private mutating func append<Record>(_ test: SQLText, isNegated: Bool, for field: Table<Record>.Field) {
        append(isNegated && !field.codec.isOptional ? "NOT (" : "(")
        append(test)
        append(isNegated && field.codec.isOptional ? ") IS NOT TRUE" : ")")
    }

    private mutating func appendEquality<Record>(of field: Table<Record>.Field, with value: SQLValue, isNegated: Bool) {
        append(field.column.quotedName)
        if value == .null {
            append(isNegated ? " IS NOT NULL" : " IS NULL")
        } else if field.codec.isOptional {
            append(isNegated ? " IS NOT " : " IS ")
            bind(value, for: field)
        } else {
            append(isNegated ? " <> " : " = ")
            bind(value, for: field)
        }
    }

    private mutating func appendComparison<Record>(
        of field: Table<Record>.Field, in table: Table<Record>, by order: Condition<Record>.Order,
        with value: any Sendable, isNegated: Bool
    ) throws(ActiveObjectError) {
        guard !(field.codec is any UnorderedCodec.Type) else { throw table.hasNoOrder(field) }
        let stored = try table.stored(value, in: field)
        guard stored != .null else { return append(isNegated ? "1" : "0") }
        let isOpen = isNegated && field.codec.isOptional
        append("\(isOpen ? "(" : "")\(field.column.quotedName) \((isNegated ? order.negated : order).sql) ")
        bind(stored, for: field)
        if isOpen { append(" OR \(field.column.quotedName) IS NULL)") }
    }
}

extension Table {
    /// Checks a value of a dictionary literal, which must be of the column's class.
    fileprivate func checked(_ value: SQLValue, in field: Field) throws(ActiveObjectError) -> SQLValue {
        switch (field.codec.valueClass, value) {
        case (_, .null), (.integer, .integer), (.real, .integer), (.text, .text), (.blob, .blob): return value
        case (.real, .real(let number)), (.integer, .real(let number)):
            if number.isNaN { throw error(.notANumber, in: field) }
            return value
        default: throw error(.notOfType("\(field.codec.valueClass)"), in: field)
        }
    }
}
