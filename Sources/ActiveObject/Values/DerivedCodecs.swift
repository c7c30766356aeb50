import FoundationEssentials

/// A type of the user's own that knows its column value.
///
/// Most types need none of this: raw-value enums and nested `Codable` values are taken as they are. It is for a type
/// that has a shorter form, such as a validated token that is kept as bytes.
public protocol ColumnValue: Sendable {
    static var valueClass: ValueClass { get }
    var sqlValue: SQLValue { get }
    /// Nil if no value of this type looks like that; the reader is told which column holds it.
    init?(sqlValue: SQLValue)
}

/// Over a `ColumnValue`.
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

/// An enum, or anything else with a raw value, as its raw value. `Raw.Value` is `Value.RawValue`: who makes this type
/// has looked `Raw` up by it, which is more than a `where` clause can be told at run time.
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

// The two kinds of enums that nearly all are. What `RawCodec` would do for them, but each asks the runtime for its types
// as seldom as can be: an enum among ten columns cost a third of the row.

/// Over texts each of which stands for one value.
protocol TextCodec: ColumnCodec {
    /// Whether a value is one byte and nothing else, as that of an enum is: who knows the text can keep the byte.
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

/// A nested value, as JSON text.
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

    /// The same value gives the same text, so that texts can be compared.
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

/// Nil is NULL.
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
