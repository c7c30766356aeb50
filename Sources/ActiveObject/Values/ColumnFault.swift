/// What is wrong with one value on its way into or out of a column. The table adds which table and column it was.
enum ColumnFault: Error, Equatable {
    case found(ValueClass, wanted: ValueClass)
    /// A number that the property's type, or SQLite's 64 bits, cannot hold.
    case outOfRange(type: String)
    case notANumber
    case notUTF8
    /// No case of an enum, no UUID, no JSON of the nested type; with what was wanted.
    case unreadable(type: String)
    /// A nested value that cannot be written as JSON.
    case unwritable(type: String)
    case tooBig
    case sqlite(Int32)
    /// A value of another type than the column's. Only where the compiler could not check: the dictionary form.
    case notOfType(String)
}
