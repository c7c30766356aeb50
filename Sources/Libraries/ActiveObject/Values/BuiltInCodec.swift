public import FoundationEssentials

/// A type that can be a column without conversion. Each is its own codec.
protocol BuiltInCodec: ColumnCodec, Sendable where Value == Self {}

protocol IntegerCodec: BuiltInCodec, FixedWidthInteger {}

extension IntegerCodec {
    static var valueClass: ValueClass { .integer }

    @inline(__always)
    static func bind(_ value: Self, to statement: Statement, at index: Int32) throws(ColumnFault) {
        guard let value = Int64(exactly: value) else { throw .outOfRange(type: "SQLite's 64 bits with a sign") }
        try statement.bind(value, at: index)
    }

    @inline(__always)
    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Self {
        guard let value = Self(exactly: try statement.integer(index)) else { throw .outOfRange(type: "\(Self.self)") }
        return value
    }

    static func stored(_ value: Self) throws(ColumnFault) -> SQLValue {
        guard let value = Int64(exactly: value) else { throw .outOfRange(type: "SQLite's 64 bits with a sign") }
        return .integer(value)
    }
}

extension Int: IntegerCodec { typealias Value = Int }
extension Int8: IntegerCodec { typealias Value = Int8 }
extension Int16: IntegerCodec { typealias Value = Int16 }
extension Int32: IntegerCodec { typealias Value = Int32 }
extension Int64: IntegerCodec { typealias Value = Int64 }
extension UInt: IntegerCodec { typealias Value = UInt }
extension UInt8: IntegerCodec { typealias Value = UInt8 }
extension UInt16: IntegerCodec { typealias Value = UInt16 }
extension UInt32: IntegerCodec { typealias Value = UInt32 }
extension UInt64: IntegerCodec { typealias Value = UInt64 }

extension Bool: BuiltInCodec {
    typealias Value = Bool
    static var valueClass: ValueClass { .integer }

    static func bind(_ value: Bool, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(value ? 1 : 0 as Int64, at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Bool {
        switch try statement.integer(index) {
        case 0: false
        case 1: true
        default: throw .outOfRange(type: "Bool")
        }
    }

    static func stored(_ value: Bool) -> SQLValue { .integer(value ? 1 : 0) }
}

extension Double: BuiltInCodec {
    typealias Value = Double
    static var valueClass: ValueClass { .real }

    static func bind(_ value: Double, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(value, at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Double {
        try statement.real(index)
    }

    static func stored(_ value: Double) throws(ColumnFault) -> SQLValue {
        if value.isNaN { throw .notANumber }
        return .real(value)
    }
}

extension Float: BuiltInCodec {
    typealias Value = Float
    static var valueClass: ValueClass { .real }

    static func bind(_ value: Float, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(Double(value), at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Float {
        try narrowed(try statement.real(index))
    }

    /// Returns the nearest value. Throws if it would be infinite although `real` is finite.
    static func narrowed(_ real: Double) throws(ColumnFault) -> Float {
        let value = Float(real)
        guard value.isFinite || real.isInfinite else { throw .outOfRange(type: "Float") }
        return value
    }

    static func stored(_ value: Float) throws(ColumnFault) -> SQLValue { try Double.stored(Double(value)) }
}

extension String: BuiltInCodec {
    typealias Value = String
    static var valueClass: ValueClass { .text }

    static func bind(_ value: String, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(value, at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> String {
        try statement.text(index)
    }

    static func stored(_ value: String) -> SQLValue { .text(value) }
}

extension Data: BuiltInCodec {
    typealias Value = Data
    static var valueClass: ValueClass { .blob }

    static func bind(_ value: Data, to statement: Statement, at index: Int32) throws(ColumnFault) {
        var fault: ColumnFault?
        unsafe value.withUnsafeBytes { bytes in
            do throws(ColumnFault) {
                try unsafe statement.bind(bytes, at: index)
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Data {
        try unsafe statement.withBlob(index) { unsafe Data($0) }
    }

    static func stored(_ value: Data) -> SQLValue { .blob(value) }
}

/// UUIDs are stored as text, in upper case with dashes, so that a person can search the file for them.
extension UUID: BuiltInCodec {
    typealias Value = UUID
    static var valueClass: ValueClass { .text }
    static var neverLooksNumeric: Bool { true }

    static func bind(_ value: UUID, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(value.uuidString, at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> UUID {
        guard let value = UUID(uuidString: try statement.text(index)) else { throw .unreadable(type: "UUID") }
        return value
    }

    static func stored(_ value: UUID) -> SQLValue { .text(value.uuidString) }
}

/// Characters are stored as text of one character.
extension Character: BuiltInCodec {
    typealias Value = Character
    static var valueClass: ValueClass { .text }

    static func bind(_ value: Character, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(String(value), at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Character {
        let text = try statement.text(index)
        guard let character = text.first, text.count == 1 else { throw .unreadable(type: "Character") }
        return character
    }

    static func stored(_ value: Character) -> SQLValue { .text(String(value)) }
}

/// URLs are stored as text, in their absolute form.
extension URL: BuiltInCodec {
    typealias Value = URL
    static var valueClass: ValueClass { .text }

    static func bind(_ value: URL, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(value.absoluteString, at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> URL {
        guard let value = URL(string: try statement.text(index)) else { throw .unreadable(type: "URL") }
        return value
    }

    static func stored(_ value: URL) -> SQLValue { .text(value.absoluteString) }
}
