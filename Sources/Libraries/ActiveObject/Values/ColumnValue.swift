/// A custom type that defines its own column value.
///
/// Most types do not need it: enums with raw values and nested `Codable` values are supported directly. It is for a
/// type with a more compact form, such as a validated token that is stored as bytes.
public protocol ColumnValue: Sendable {
    /// The class of the values that the type is stored as.
    static var valueClass: ValueClass { get }
    /// The value for the column.
    var sqlValue: SQLValue { get }
    /// Creates a value from the value of a column. Returns nil if it is invalid; the read then throws an error that
    /// names the column.
    init?(sqlValue: SQLValue)
}

/// The codec of a ``ColumnValue`` type.
enum ColumnValueCodec<Value: ColumnValue>: ColumnCodec {
    static var valueClass: ValueClass { Value.valueClass }

    static func bind(_ value: Value, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(value.sqlValue, at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Value {
        guard let value = Value(sqlValue: try statement.value(index)) else { throw .unreadable(type: "\(Value.self)") }
        return value
    }

    static func stored(_ value: Value) -> SQLValue { value.sqlValue }
}
