/// How a property of one type becomes the value of a column, and back.
///
/// A codec is a type, never an instance: what a table holds for each field is its metatype and where the property lies
/// in the record. It reads and writes the property in place; a row of ten columns makes no copy of the record and no
/// container.
protocol ColumnCodec {
    associatedtype Value
    static var valueClass: ValueClass { get }
    static var isOptional: Bool { get }
    /// Of texts: none of them is a number, which a column of numeric affinity would turn it into.
    static var neverLooksNumeric: Bool { get }
    static var isDate: Bool { get }

    static func bind(_ value: Value, to statement: Statement, at index: Int32) throws(ColumnFault)
    static func read(_ statement: Statement, _ index: Int32) throws(ColumnFault) -> Value
    /// The value as SQLite would hold it, for what is compared with a column.
    static func stored(_ value: Value) throws(ColumnFault) -> SQLValue

    // Witnesses of these are compiled for each type; through the two above every value would pass through memory of
    // unknown size. Nobody writes them by hand.
    static func bind(from property: UnsafeRawPointer, to statement: Statement, at index: Int32) throws(ColumnFault)
    static func read(_ statement: Statement, _ index: Int32, into property: UnsafeMutableRawPointer) throws(ColumnFault)
}

extension ColumnCodec {
    static var isOptional: Bool { false }
    static var neverLooksNumeric: Bool { false }
    static var isDate: Bool { false }

    @inline(__always)
    static func bind(from property: UnsafeRawPointer, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try bind(unsafe property.assumingMemoryBound(to: Value.self).pointee, to: statement, at: index)
    }

    @inline(__always)
    static func read(
        _ statement: Statement, _ index: Int32, into property: UnsafeMutableRawPointer
    ) throws(ColumnFault) {
        unsafe property.initializeMemory(as: Value.self, to: try read(statement, index))
    }

    /// Whether the value can be read.
    static func check(_ statement: Statement, _ index: Int32) throws(ColumnFault) {
        _ = try read(statement, index)
    }

    static func stored(any value: Any) throws(ColumnFault) -> SQLValue {
        guard let value = value as? Value else { throw .notOfType("\(Value.self)") }
        return try stored(value)
    }
}
