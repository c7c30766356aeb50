/// The conversion between a property of one type and the value of a column.
///
/// A codec is a type, never an instance: for each field, a table holds the metatype of its codec and the offset of the
/// property in the record. A codec reads and writes the property in place, so a row of ten columns needs neither a copy
/// of the record nor a container.
protocol ColumnCodec {
    associatedtype Value
    static var valueClass: ValueClass { get }
    static var isOptional: Bool { get }
    /// Whether its texts never look like a number, which a column with numeric affinity would convert.
    static var neverLooksNumeric: Bool { get }
    static var isDate: Bool { get }

    static func bind(_ value: Value, to statement: Statement, at index: Int32) throws(ColumnFault)
    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Value
    /// Returns the value as SQLite would hold it, for comparisons with a column.
    static func stored(_ value: Value) throws(ColumnFault) -> SQLValue

    // The compiler specializes the witnesses of these two for each type. Through the two above, every value would pass
    // through memory of unknown size. The default implementations are always sufficient.
    static func bind(from property: UnsafeRawPointer, to statement: Statement, at index: Int32) throws(ColumnFault)
    static func read(from statement: Statement, at index: Int32, into property: UnsafeMutableRawPointer)
        throws(ColumnFault)
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
        from statement: Statement, at index: Int32, into property: UnsafeMutableRawPointer
    ) throws(ColumnFault) {
        unsafe property.initializeMemory(as: Value.self, to: try read(from: statement, at: index))
    }

    /// Throws if the value cannot be read.
    static func checkIsReadable(from statement: Statement, at index: Int32) throws(ColumnFault) {
        _ = try read(from: statement, at: index)
    }

    static func stored(any value: Any) throws(ColumnFault) -> SQLValue {
        guard let value = value as? Value else { throw .notOfType("\(Value.self)") }
        return try stored(value)
    }
}
