import FoundationEssentials

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
enum OwnCodec<Value: ColumnValue>: ColumnCodec {
    static var valueClass: ValueClass { Value.valueClass }

    static func bind(_ value: Value, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(value.sqlValue, at: index)
    }

    static func read(_ statement: Statement, _ index: Int32) throws(ColumnFault) -> Value {
        guard let value = Value(sqlValue: try statement.value(index)) else { throw .unreadable(type: "\(Value.self)") }
        return value
    }

    static func stored(_ value: Value) -> SQLValue { value.sqlValue }
}

/// The codec of a type with a raw value, such as an enum. `Raw.Value` is `Value.RawValue`: the caller looks up `Raw` by
/// that type, which a `where` clause cannot express at run time.
enum RawCodec<Value: RawRepresentable, Raw: ColumnCodec>: ColumnCodec {
    static var valueClass: ValueClass { Raw.valueClass }
    static var neverLooksNumeric: Bool { Raw.neverLooksNumeric }
    static var isDate: Bool { Raw.isDate }

    static func bind(_ value: Value, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try Raw.bind(unsafe unsafeBitCast(value.rawValue, to: Raw.Value.self), to: statement, at: index)
    }

    static func read(_ statement: Statement, _ index: Int32) throws(ColumnFault) -> Value {
        let raw = try Raw.read(statement, index)
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

    static func read(_ statement: Statement, _ index: Int32) throws(ColumnFault) -> Value {
        guard let value = Value(rawValue: try statement.text(index)) else { throw .unreadable(type: "\(Value.self)") }
        return value
    }

    static func read(
        _ statement: Statement, _ index: Int32, into property: UnsafeMutableRawPointer
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

    static func read(_ statement: Statement, _ index: Int32) throws(ColumnFault) -> Value {
        guard let value = Value(rawValue: Int(try statement.integer(index))) else {
            throw .unreadable(type: "\(Value.self)")
        }
        return value
    }

    static func read(
        _ statement: Statement, _ index: Int32, into property: UnsafeMutableRawPointer
    ) throws(ColumnFault) {
        guard let value = Value(rawValue: Int(try statement.integer(index))) else {
            throw .unreadable(type: "\(Value.self)")
        }
        unsafe property.initializeMemory(as: Value.self, to: value)
    }

    static func stored(_ value: Value) -> SQLValue { .integer(Int64(value.rawValue)) }
}

/// The codec of a nested value, as JSON text.
enum JSONCodec<Value: Codable>: ColumnCodec {
    static var valueClass: ValueClass { .text }

    static func bind(_ value: Value, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(try text(value), at: index)
    }

    static func read(_ statement: Statement, _ index: Int32) throws(ColumnFault) -> Value {
        let text = try statement.text(index)
        do {
            return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        } catch {
            throw .unreadable(type: "\(Value.self)")
        }
    }

    static func stored(_ value: Value) throws(ColumnFault) -> SQLValue { .text(try text(value)) }

    /// Returns JSON with sorted keys, so that equal values have equal texts.
    private static func text(_ value: Value) throws(ColumnFault) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        } catch {
            throw .unwritable(type: "\(Value.self)")
        }
    }
}

/// The codec of an optional. Nil is NULL.
enum OptionalCodec<Wrapped: ColumnCodec>: ColumnCodec {
    static var valueClass: ValueClass { Wrapped.valueClass }
    static var isOptional: Bool { true }
    static var neverLooksNumeric: Bool { Wrapped.neverLooksNumeric }
    static var isDate: Bool { Wrapped.isDate }

    static func bind(_ value: Wrapped.Value?, to statement: Statement, at index: Int32) throws(ColumnFault) {
        if let value {
            try Wrapped.bind(value, to: statement, at: index)
        } else {
            try statement.bindNull(at: index)
        }
    }

    static func read(_ statement: Statement, _ index: Int32) throws(ColumnFault) -> Wrapped.Value? {
        statement.isNull(index) ? nil : try Wrapped.read(statement, index)
    }

    static func stored(_ value: Wrapped.Value?) throws(ColumnFault) -> SQLValue {
        guard let value else { return .null }
        return try Wrapped.stored(value)
    }
}
