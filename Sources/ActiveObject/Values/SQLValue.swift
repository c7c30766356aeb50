public import FoundationEssentials

/// The five kinds of values that SQLite knows.
public enum ValueClass: String, Hashable, Sendable, CustomStringConvertible {
    case null, integer, real, text, blob

    public var description: String { rawValue }
    /// As the type of a column.
    var sql: String { rawValue.uppercased() }
}

/// One value as SQLite holds it: what raw SQL takes and gives.
public enum SQLValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob(Data)

    public var valueClass: ValueClass {
        switch self {
        case .null: .null
        case .integer: .integer
        case .real: .real
        case .text: .text
        case .blob: .blob
        }
    }

    /// Texts are equal if their bytes are, as SQLite has it: Swift takes the two spellings of é for one, and a change from
    /// the one to the other would seem to be none.
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
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .real(value) }
    public init(stringLiteral value: String) { self = .text(value) }
    public init(booleanLiteral value: Bool) { self = .integer(value ? 1 : 0) }
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
