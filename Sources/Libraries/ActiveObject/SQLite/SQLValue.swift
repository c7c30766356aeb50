public import FoundationEssentials

/// The five classes of values in SQLite.
public enum ValueClass: String, Hashable, Sendable, CustomStringConvertible {
    /// The storage classes of SQLite.
    case null, integer, real, text, blob

    /// The name in lower case: "integer".
    public var description: String { rawValue }
    /// The class as the type of a column.
    var sql: String { rawValue.uppercased() }
}

/// A value as SQLite stores it, for raw SQL and for columns without a Swift type.
public enum SQLValue: Hashable, Sendable {
    /// NULL.
    case null
    /// A whole number of 64 bits.
    case integer(Int64)
    /// A floating-point number.
    case real(Double)
    /// A text in UTF-8.
    case text(String)
    /// Bytes.
    case blob(Data)

    /// The class of the value.
    public var valueClass: ValueClass {
        switch self {
        case .null: .null
        case .integer: .integer
        case .real: .real
        case .text: .text
        case .blob: .blob
        }
    }

    /// Compares two values. Texts are equal if their bytes are equal, as in SQLite. Swift treats the two encodings of é
    /// as equal, which would hide a change from one to the other.
    public static func == (one: SQLValue, other: SQLValue) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.integer(let one), .integer(let other)): one == other
        case (.real(let one), .real(let other)): one == other
        case (.text(let one), .text(let other)): one.utf8.elementsEqual(other.utf8)
        case (.blob(let one), .blob(let other)): one == other
        default: false
        }
    }

    /// Hashes the value, with texts by their bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(valueClass)
        switch self {
        case .null: break
        case .integer(let value): hasher.combine(value)
        case .real(let value): hasher.combine(value)
        case .text(var value): value.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .blob(let value): hasher.combine(value)
        }
    }
}

extension SQLValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    /// Creates an INTEGER.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a REAL.
    public init(floatLiteral value: Double) { self = .real(value) }
    /// Creates a TEXT.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Creates an INTEGER, 1 or 0.
    public init(booleanLiteral value: Bool) { self = .integer(value ? 1 : 0) }
    /// Creates NULL.
    public init(nilLiteral: ()) { self = .null }
}

extension Statement {
    func bind(_ value: SQLValue, at index: Int32) throws(ColumnFault) {
        switch value {
        case .null: try bindNull(at: index)
        case .integer(let value): try bind(value, at: index)
        case .real(let value): try bind(value, at: index)
        case .text(let value): try bind(value, at: index)
        case .blob(let value): try Data.bind(value, to: self, at: index)
        }
    }

    func value(_ index: Int32) throws(ColumnFault) -> SQLValue {
        switch valueClass(index) {
        case .null: .null
        case .integer: .integer(try integer(index))
        case .real: .real(try real(index))
        case .text: .text(try text(index))
        case .blob: .blob(try unsafe withBlob(index) { unsafe Data($0) })
        }
    }
}
