import FoundationEssentials

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

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Wrapped.Value? {
        statement.isNull(index) ? nil : try Wrapped.read(from: statement, at: index)
    }

    static func stored(_ value: Wrapped.Value?) throws(ColumnFault) -> SQLValue {
        guard let value else { return .null }
        return try Wrapped.stored(value)
    }
}

// These do the same as `OptionalCodec`, but are compiled for the most common optionals. The general codec looks up its
// types in the runtime for each row, which costs more than the value.

/// The codec of an optional of a built-in type.
protocol OptionalBuiltInCodec: ColumnCodec where Value == Wrapped? {
    associatedtype Wrapped: BuiltInCodec
}

extension OptionalBuiltInCodec {
    static var valueClass: ValueClass { Wrapped.valueClass }
    static var isOptional: Bool { true }
    static var neverLooksNumeric: Bool { Wrapped.neverLooksNumeric }
    static var isDate: Bool { Wrapped.isDate }

    @inline(__always)
    static func bind(_ value: Wrapped?, to statement: Statement, at index: Int32) throws(ColumnFault) {
        if let value {
            try Wrapped.bind(value, to: statement, at: index)
        } else {
            try statement.bindNull(at: index)
        }
    }

    @inline(__always)
    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Wrapped? {
        statement.isNull(index) ? nil : try Wrapped.read(from: statement, at: index)
    }

    static func stored(_ value: Wrapped?) throws(ColumnFault) -> SQLValue {
        guard let value else { return .null }
        return try Wrapped.stored(value)
    }
}

/// The codec of `objectId`, which every record has.
enum OptionalInt64: OptionalBuiltInCodec {
    typealias Wrapped = Int64

    @inline(__always)
    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Int64? {
        try statement.optionalInteger(index)
    }
}
private enum OptionalInt: OptionalBuiltInCodec { typealias Wrapped = Int }
private enum OptionalInt8: OptionalBuiltInCodec { typealias Wrapped = Int8 }
private enum OptionalInt16: OptionalBuiltInCodec { typealias Wrapped = Int16 }
private enum OptionalInt32: OptionalBuiltInCodec { typealias Wrapped = Int32 }
private enum OptionalUInt: OptionalBuiltInCodec { typealias Wrapped = UInt }
private enum OptionalUInt8: OptionalBuiltInCodec { typealias Wrapped = UInt8 }
private enum OptionalUInt16: OptionalBuiltInCodec { typealias Wrapped = UInt16 }
private enum OptionalUInt32: OptionalBuiltInCodec { typealias Wrapped = UInt32 }
private enum OptionalUInt64: OptionalBuiltInCodec { typealias Wrapped = UInt64 }
private enum OptionalFloat: OptionalBuiltInCodec { typealias Wrapped = Float }
private enum OptionalBool: OptionalBuiltInCodec { typealias Wrapped = Bool }
private enum OptionalDouble: OptionalBuiltInCodec { typealias Wrapped = Double }
private enum OptionalString: OptionalBuiltInCodec { typealias Wrapped = String }
private enum OptionalData: OptionalBuiltInCodec { typealias Wrapped = Data }
private enum OptionalUUID: OptionalBuiltInCodec { typealias Wrapped = UUID }
private enum OptionalDate: OptionalBuiltInCodec { typealias Wrapped = Date }

/// Returns the compiled codec of an optional, or nil if only the general codec fits.
func compiledOptionalCodec(over wrapped: any ColumnCodec.Type) -> (any ColumnCodec.Type)? {
    let codecs: [any OptionalBuiltInCodec.Type] = [
        OptionalInt64.self, OptionalInt.self, OptionalInt8.self, OptionalInt16.self, OptionalInt32.self,
        OptionalUInt.self, OptionalUInt8.self, OptionalUInt16.self, OptionalUInt32.self, OptionalUInt64.self,
        OptionalFloat.self, OptionalDouble.self, OptionalBool.self, OptionalString.self, OptionalData.self,
        OptionalUUID.self, OptionalDate.self,
    ]
    return codecs.first { $0.isOver(wrapped) }
}

extension OptionalBuiltInCodec {
    fileprivate static func isOver(_ codec: any ColumnCodec.Type) -> Bool { codec == Wrapped.self }
}
