import FoundationEssentials

/// The form in which a column stores dates.
public enum DateForm: Hashable, Sendable {
    /// Seconds since 2001-01-01 00:00 UTC, as REAL. This is the representation of `Date` itself, so dates are read back
    /// exactly. In SQL, `datetime(column + 978307200, 'unixepoch')` shows them.
    case exact
    /// Whole milliseconds since 1970, as INTEGER; negative before. For columns that other programs share.
    case unixMilliseconds
    /// ISO 8601 in UTC with milliseconds, as TEXT, for the years 0000 to 9999. The texts sort by time.
    case iso8601

    var codec: any ColumnCodec.Type {
        switch self {
        case .exact: Date.self
        case .unixMilliseconds: UnixMilliseconds.self
        case .iso8601: ISO8601.self
        }
    }
}

extension Date: BuiltInCodec {
    typealias Value = Date
    static var valueClass: ValueClass { .real }
    static var isDate: Bool { true }

    static func bind(_ value: Date, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(value.timeIntervalSinceReferenceDate, at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Date {
        Date(timeIntervalSinceReferenceDate: try statement.real(index))
    }

    static func stored(_ value: Date) throws(ColumnFault) -> SQLValue {
        try Double.stored(value.timeIntervalSinceReferenceDate)
    }
}

enum UnixMilliseconds: ColumnCodec {
    static var valueClass: ValueClass { .integer }
    static var isDate: Bool { true }

    static func bind(_ value: Date, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(try milliseconds(value), at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Date {
        Date(timeIntervalSince1970: Double(try statement.integer(index)) / 1000)
    }

    static func stored(_ value: Date) throws(ColumnFault) -> SQLValue { .integer(try milliseconds(value)) }

    private static func milliseconds(_ date: Date) throws(ColumnFault) -> Int64 {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        guard let whole = Int64(exactly: milliseconds) else { throw .outOfRange(type: "milliseconds since 1970") }
        return whole
    }
}
