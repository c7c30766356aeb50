/// The codec of a type with a raw value, such as an enum. `Raw.Value` is `Value.RawValue`: the caller looks up `Raw` by
/// that type, which a `where` clause cannot express at run time.
enum RawCodec<Value: RawRepresentable, Raw: ColumnCodec>: ColumnCodec {
    static var valueClass: ValueClass { Raw.valueClass }
    static var neverLooksNumeric: Bool { Raw.neverLooksNumeric }
    static var isDate: Bool { Raw.isDate }

    static func bind(_ value: Value, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try Raw.bind(unsafe unsafeBitCast(value.rawValue, to: Raw.Value.self), to: statement, at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Value {
        let raw = try Raw.read(from: statement, at: index)
        guard let value = Value(rawValue: unsafe unsafeBitCast(raw, to: Value.RawValue.self)) else {
            throw .unreadable(type: "\(Value.self)")
        }
        return value
    }

    static func stored(_ value: Value) throws(ColumnFault) -> SQLValue {
        try Raw.stored(unsafe unsafeBitCast(value.rawValue, to: Raw.Value.self))
    }
}

// The codecs of the two most common kinds of enums. They do the same as `RawCodec`, but look up types in the runtime as
// rarely as possible: an enum among ten columns cost a third of the row.

/// A codec whose texts each stand for one value.
protocol TextCodec: ColumnCodec {
    /// Whether a value is exactly one byte, as that of an enum without payload is. Then ``KnownTexts`` can cache it.
    static var isOneByte: Bool { get }
}

enum RawTextCodec<Value: RawRepresentable<String>>: TextCodec {
    static var isOneByte: Bool { _isPOD(Value.self) && MemoryLayout<Value>.size == 1 }
    static var valueClass: ValueClass { .text }

    static func bind(_ value: Value, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(value.rawValue, at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Value {
        guard let value = Value(rawValue: try statement.text(index)) else { throw .unreadable(type: "\(Value.self)") }
        return value
    }

    static func read(
        from statement: Statement, at index: Int32, into property: UnsafeMutableRawPointer
    ) throws(ColumnFault) {
        guard let value = Value(rawValue: try statement.text(index)) else { throw .unreadable(type: "\(Value.self)") }
        unsafe property.initializeMemory(as: Value.self, to: value)
    }

    static func stored(_ value: Value) -> SQLValue { .text(value.rawValue) }
}

enum RawIntCodec<Value: RawRepresentable<Int>>: ColumnCodec {
    static var valueClass: ValueClass { .integer }

    static func bind(_ value: Value, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(Int64(value.rawValue), at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Value {
        guard let value = Value(rawValue: Int(try statement.integer(index))) else {
            throw .unreadable(type: "\(Value.self)")
        }
        return value
    }

    static func read(
        from statement: Statement, at index: Int32, into property: UnsafeMutableRawPointer
    ) throws(ColumnFault) {
        guard let value = Value(rawValue: Int(try statement.integer(index))) else {
            throw .unreadable(type: "\(Value.self)")
        }
        unsafe property.initializeMemory(as: Value.self, to: value)
    }

    static func stored(_ value: Value) -> SQLValue { .integer(Int64(value.rawValue)) }
}
