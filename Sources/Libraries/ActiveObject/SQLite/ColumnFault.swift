/// A fault of one value on its way into or out of a column. The table adds the names of the table and the column.
enum ColumnFault: Error, Equatable {
    case found(ValueClass, wanted: ValueClass)
    /// A number that does not fit the property's type or SQLite's 64 bits.
    case outOfRange(type: String)
    case notANumber
    case notUTF8
    /// A value that is not a valid value of the type, such as an unknown enum case, a malformed UUID or malformed JSON.
    case unreadable(type: String)
    /// A nested value that cannot be written as JSON.
    case unwritable(type: String)
    case tooBig
    case sqlite(Int32)
    /// A value of another type than the column's. This is only possible where the compiler cannot check: with
    /// dictionary literals.
    case notOfType(String)
}
